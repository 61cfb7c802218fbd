"""A cluster with parameter servers on this machine, each process with its TF_CONFIG.

    served_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as chief 0, worker 0, worker 1 and ps 0 in FOLDER, does what
the case says, and prints what becomes of each, for FileCheck.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
held = []


def reserve():
    """A port that no other program is given: bound, and not listened at."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    held.append(one)
    return f"127.0.0.1:{one.getsockname()[1]}"


cluster = {"chief": [reserve()], "worker": [reserve(), reserve()], "ps": [reserve()]}


def start(job, index, *more):
    return subprocess.Popen(
        ["dist-run", *arguments, *more],
        env={**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def steps_done():
    path = f"{folder}/history.jsonl"
    return sum(1 for _ in open(path)) if os.path.exists(path) else 0


before = steps_done()  # of a run that this one goes on from
names = [(job, index) for job in cluster for index in range(len(cluster[job]))]
more = ["--collective-timeout", "2"] if case == "freeze" else []
tasks = {f"{job} {index}": start(job, index, *more) for job, index in names}
for _ in range(1200):
    if steps_done() > before + 10:
        break
    time.sleep(0.05)
else:
    raise SystemExit("the cluster never trained")
victim = os.environ.get("WHO", "worker 0")
if case in ("kill", "stop", "freeze"):
    tasks[victim].send_signal({"kill": signal.SIGKILL, "stop": signal.SIGTERM, "freeze": signal.SIGSTOP}[case])
elif case != "train":
    raise SystemExit(f"no case {case}")
for name, task in tasks.items():
    if case == "freeze" and name == victim:
        continue
    out, err = task.communicate(timeout=120)
    print(f"== {name}: exit {task.returncode}\n{out}{err}", end="")
if case == "freeze":
    # It wakes up when all is over, and finds that out.
    tasks[victim].send_signal(signal.SIGCONT)
    out, err = tasks[victim].communicate(timeout=120)
    print(f"== {victim}, awake: exit {tasks[victim].returncode}\n{out}{err}", end="")
