"""Whether a chief may take its time to write what a run gives, when the others have ended.

    late_reader.py [--kill] COMMAND...

The command's --plot curve.svg is a pipe. It is read six seconds after all workers but one have ended. --kill: the
first worker is killed when it has done some steps, and another one becomes the chief.
Prints the exit code, what was read, and the errors, without epochs' lines.
"""
import os
import re
import signal
import subprocess
import sys
import time

import tasks

kills = sys.argv[1] == "--kill"
if kills:
    del sys.argv[1]
if os.path.exists("curve.svg"):
    os.remove("curve.svg")
os.mkfifo("curve.svg")


def wait_for(what, how):
    for _ in range(2400):
        if how():
            return
        assert run.poll() is None, f"it ended: {open('errors').read()}"
        time.sleep(0.05)
    raise SystemExit(f"not within two minutes: {what}: {open('errors').read()}")


with open("errors", "w") as errors, open("result.json", "w") as result:
    run = subprocess.Popen([*sys.argv[1:], "--plot", "curve.svg", "--history", "history.jsonl", "--json"], stdout=result, stderr=errors)
tasks.started.append(run)
wait_for("steps", lambda: tasks.steps_done(".") > 10)
if kills:
    os.kill(tasks.launched(run.pid)[0][0], signal.SIGKILL)
wait_for("the others' end", lambda: len(tasks.launched(run.pid)) == 1)
time.sleep(6)
pipe = os.open("curve.svg", os.O_RDONLY | os.O_NONBLOCK)
os.set_blocking(pipe, True)
text = b""
while block := os.read(pipe, 65536):
    text += block
print(f"exit {run.wait(timeout=60)}, {'all' if text.rstrip().endswith(b'</svg>') else len(text)} of the curve")
print("".join(line for line in open("errors") if not re.match(r"(worker \d: )?epoch", line)), end="")
