"""Ends the workers of `dist-run ... --workers 3` in several ways; says what is left.

    workers_end.py COMMAND...
"""
import glob
import os
import re
import signal
import subprocess
import sys
import time

import tasks

command = sys.argv[1:]


def files():
    """What a process may leave: shared memory, and scratch folders."""
    return set(os.listdir("/dev/shm")) | set(glob.glob(f"{os.environ.get('TMPDIR', '/tmp')}/dist-run-scratch-*"))


def alive(process):
    try:
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Run:
    def __init__(self, history):
        self.before = files()
        self.history = history
        if os.path.exists(history):
            os.remove(history)
        self.process = subprocess.Popen([*command, "--history", history], stderr=subprocess.PIPE, text=True)
        for _ in range(600):
            if os.path.exists(history) and sum(1 for _ in open(history)) > 5:
                break
            time.sleep(0.05)
        else:
            raise SystemExit("the cluster never trained: " + self.process.communicate()[1])
        found = tasks.launched(self.process.pid)
        assert sorted(found) == [0, 1, 2], found
        self.workers = [found[index][0] for index in range(3)]

    def rest(self):
        for _ in range(100):
            left = [worker for worker in self.workers if alive(worker)]
            if not left:
                break
            time.sleep(0.05)
        return f"{len(left)} processes are left"

    def end(self):
        self.errors = self.process.communicate(timeout=60)[1]
        rest = self.rest()
        # What other tests have there meanwhile goes away.
        left = files() - self.before
        for _ in range(300):
            if not left:
                break
            time.sleep(0.1)
            left &= files()
        return f"{rest}, {len(left)} files are left"


run = Run("kill.jsonl")
os.kill(run.workers[2], signal.SIGKILL)
left = run.end()
named = "worker 2 is named" if re.search(r"error: .*worker 2\b.* has ended", run.errors) else run.errors
print(f"kill: exit {run.process.returncode}, {named}, {left}")
run = Run("stop.jsonl")
run.process.send_signal(signal.SIGTERM)
left = run.end()
steps = set(re.findall(r"stopped after step (\d+)", run.errors))
print(f"stop: exit {run.process.returncode}, stopped after {'one step' if len(steps) == 1 else steps}, {left}")
run = Run("launcher.jsonl")
run.process.kill()
print(f"launcher killed: {run.rest()}")
