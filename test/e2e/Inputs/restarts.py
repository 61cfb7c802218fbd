"""What becomes of `COMMAND... --max-restarts N` when processes of its are killed.

    restarts.py [--worker NUMBER] [--refuse] [--early] TIMES UNTIL COMMAND...

Kills worker NUMBER, by default 1, TIMES times (with 0, it tells it to stop, once), each time ten steps after it
has begun to train, and waits for the end; or, where UNTIL is not empty, until its errors
have said that, and ends it then.
--refuse: the command may open no file more when that happens, until it has said that it cannot
start the worker again.
--early: as soon as it is there, before it has begun.
Prints the exit code and the errors, without epochs' lines.
"""
import os
import re
import resource
import signal
import subprocess
import sys
import time

import tasks

number = 1
if sys.argv[1] == "--worker":
    number = int(sys.argv[2])
    del sys.argv[1:3]
refuses = sys.argv[1] == "--refuse"
if refuses:
    del sys.argv[1]
early = sys.argv[1] == "--early"
if early:
    del sys.argv[1]
times, until, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]


def find_worker():
    process, variables = tasks.launched(run.pid).get(number, (None, {}))
    # Not a chief of its number, while it is not there.
    return process if '"type": "worker"' in variables.get("TF_CONFIG", "") else None


def wait_for(what, how):
    for _ in range(2400):
        found = how()
        if found:
            return found
        assert run.poll() is None, f"it ended: {open('errors').read()}"
        time.sleep(0.05)
    raise SystemExit(f"not within two minutes: {what}: {open('errors').read()}")


with open("errors", "w") as errors:
    run = subprocess.Popen([*command, "--history", "history.jsonl"], stderr=errors)
tasks.started.append(run)
for _ in range(max(times, 1)):
    before = tasks.steps_done(".")
    worker = wait_for("the worker", find_worker)
    if not early:
        # Not those that a run goes on from, which may be written again.
        wait_for("steps", lambda: tasks.steps_done(".") > before + 10)
    limits = resource.prlimit(run.pid, resource.RLIMIT_NOFILE)
    if refuses:
        # It has more than four, and waits for fewer pipes at a time.
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (4, limits[1]))
    os.kill(worker, signal.SIGKILL if times else signal.SIGTERM)
    if refuses:
        wait_for("a refusal", lambda: "cannot start a worker" in open("errors").read())
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, limits)
    while run.poll() is None and find_worker() in (worker, None):
        time.sleep(0.05)
if until:
    wait_for(until, lambda: re.search(until, open("errors").read(), re.S))
    run.send_signal(signal.SIGTERM)
code = run.wait(timeout=120)
lines = [line for line in open("errors") if not re.match(r"(worker \d: )?epoch", line)]
print(f"exit {code}\n" + "".join(lines), end="")
