"""Runs a program as a chief, a worker and two parameter servers; the chief is stopped once they are at work, until the others
have given it up, and goes on: stopped_chief.py PROGRAM ARGUMENTS..."""
import json
import os
import signal
import subprocess
import sys
import time

import tasks

addresses = {"chief": [tasks.reserve()], "worker": [tasks.reserve()], "ps": [tasks.reserve(), tasks.reserve()]}
started = {}
for job, index in (("chief", 0), ("worker", 0), ("ps", 0), ("ps", 1)):
    config = json.dumps({"cluster": addresses, "task": {"type": job, "index": index}})
    name = job + str(index) if job == "ps" else job
    started[name] = subprocess.Popen(sys.argv[1:], env={**os.environ, "TF_CONFIG": config}, stderr=subprocess.PIPE, text=True)
    tasks.started.append(started[name])


def steps():
    status = subprocess.run(["dist-run", "status", "--json", addresses["chief"][0]], capture_output=True, text=True)
    return max(member["step"] for member in json.loads(status.stdout)["members"]) if status.returncode == 0 else 0


while steps() < 10:
    if started["chief"].poll() is not None:
        raise SystemExit(f"the chief ended: {started['chief'].stderr.read()}")
    time.sleep(0.05)
started["chief"].send_signal(signal.SIGSTOP)
for name in ("worker", "ps0", "ps1"):
    print(f"{name}: {started[name].communicate()[1]}", end="")
started["chief"].send_signal(signal.SIGCONT)
print(f"chief: {started['chief'].communicate()[1]}", end="")
