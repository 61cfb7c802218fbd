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


MARK = f"DIST_TEST_RUN={os.getpid()} {time.time()}"  # in the environment of all that is started here


def files():
    """What a process may leave: shared memory, and scratch folders."""
    return set(glob.glob("/dev/shm/*")) | set(glob.glob(f"{os.environ.get('TMPDIR', '/tmp')}/dist-run-scratch-*"))


def files_of_others():
    """What processes that others have started have open, or mapped."""
    used = set()
    for process in glob.glob("/proc/[0-9]*"):
        try:
            if MARK in open(f"{process}/environ").read().split("\0"):
                continue
            used.update(os.readlink(name) for name in glob.glob(f"{process}/fd/*"))
            used.update(line.split(maxsplit=5)[-1].strip() for line in open(f"{process}/maps"))
        except OSError:
            pass  # another user's, or over meanwhile
    return used


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
        own = dict([MARK.split("=", 1)])
        self.process = subprocess.Popen([*command, "--history", history], stderr=subprocess.PIPE, text=True, env={**os.environ, **own})
        tasks.started.append(self.process)
        tasks.wait_for("steps", lambda: os.path.exists(history) and sum(1 for _ in open(history)) > 5)
        found = tasks.launched(self.process.pid)
        assert sorted(found) == [0, 1, 2], found
        self.workers = [found[index][0] for index in range(3)]

    def rest(self):
        for _ in range(1200):
            left = [worker for worker in self.workers if alive(worker)]
            if not left:
                break
            time.sleep(0.05)
        return f"{len(left)} processes are left"

    def end(self):
        self.errors = self.process.communicate(timeout=240)[1]
        rest = self.rest()
        # What other tests have there meanwhile is in use, or is so in a moment, or goes away.
        left = files() - self.before
        for _ in range(300):
            left -= files_of_others()
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
