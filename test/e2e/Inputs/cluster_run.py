"""A cluster of processes on this machine, each with its TF_CONFIG.

    cluster_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as so many workers as the case has, in FOLDER, does what
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
    return one.getsockname()[1]


def start(index, ports, *more, **environment):
    config = {"cluster": {"worker": [f"127.0.0.1:{port}" for port in ports]}, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        ["dist-run", *arguments, *more],
        env={**os.environ, "TF_CONFIG": json.dumps(config), **environment},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(workers, limit=60):
    """What became of each; the time until the last was over."""
    begin = time.time()
    for index, worker in enumerate(workers):
        out, err = worker.communicate(timeout=limit)
        print(f"== worker {index}: exit {worker.returncode}\n{out}{err}", end="")
    return time.time() - begin


def steps_done():
    path = f"{folder}/history.jsonl"
    return sum(1 for _ in open(path)) if os.path.exists(path) else 0


before = steps_done()  # of a run that this one goes on from


def wait_for_steps(count):
    for _ in range(600):
        if steps_done() > before + count:
            return
        time.sleep(0.05)
    raise SystemExit("the cluster never trained")


ports = [reserve() for _ in range(3)]
if case == "train":
    # Started one after the other, as one types them; the last first.
    workers = [start(2, ports)]
    time.sleep(0.3)
    finish([start(0, ports), start(1, ports)] + workers)
elif case == "kill":
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    workers[2].kill()
    seconds = finish(workers)
    print("all over within 3 s" if seconds < 3 else f"{seconds:.1f} s")
elif case == "freeze":
    workers = [start(index, ports, "--collective-timeout", "2") for index in range(3)]
    wait_for_steps(5)
    workers[2].send_signal(signal.SIGSTOP)
    seconds = finish(workers[:2])
    workers[2].kill()
    workers[2].communicate()
    print("all over within 8 s" if seconds < 8 else f"{seconds:.1f} s")
elif case == "stop":
    workers = [start(index, ports) for index in range(3)]
    wait_for_steps(5)
    workers[1].send_signal(signal.SIGTERM)
    finish(workers)
elif case == "missing":
    finish([start(0, ports), start(1, ports)])
elif case == "unlike":
    finish([start(0, ports), start(1, ports, *os.environ["WORKER_1"].split()), start(2, ports)])
elif case == "chief":
    finish([start(0, ports, *os.environ["CHIEF"].split()), start(1, ports), start(2, ports)])
elif case == "port":
    held[0].listen()
    finish([start(0, ports)])
else:
    raise SystemExit(f"no case {case}")
