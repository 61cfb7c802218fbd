#!/usr/bin/env python3
"""Changes the compile cache under a run that trains: change_cache.py CACHE prune|remove|remove-and-kill COMMAND...

Stands the run still behind its first epoch. prune: gives the cache 48 packages that were used later, and compiles another
model; remove: deletes the cache; remove-and-kill: deletes it, and kills the second worker that the run has started. Prints what the
run says from then on, its exit code, and how many packages were in the cache before and after."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

cache, change, command = sys.argv[1], sys.argv[2], sys.argv[3:]


def packages():
    return {name for name in (os.listdir(cache) if os.path.isdir(cache) else []) if re.fullmatch("[0-9a-f]{64}", name)}


def worker_of(process):
    with open(f"/proc/{process}/task/{process}/children") as file:
        children = [int(word) for word in file.read().split()]
    for child in children:
        with open(f"/proc/{child}/environ") as file:
            if '"type": "worker", "index": 1' in file.read():
                return child
    sys.exit("it has no second worker")


shutil.rmtree(cache, ignore_errors=True)
run = subprocess.Popen(command + ["--compile-cache", cache], stderr=subprocess.PIPE, text=True)
try:
    for line in run.stderr:
        if "epoch 1/" in line:
            break
    else:
        sys.exit(f"it has ended before: exit {run.wait()}")
    run.send_signal(signal.SIGSTOP)
    own = packages()
    assert len(own) == 1, own
    if change == "prune":
        os.utime(os.path.join(cache, *own), (1, 1))
        for number in range(48):
            os.mkdir(os.path.join(cache, f"{number:064x}"))
        model = next(word for word in command if word.endswith(".onnx"))
        other = ["dist-run", "info", model, "--batch-size", "3", "--compile-cache", cache]
        subprocess.run(other, check=True, stdout=subprocess.DEVNULL)
        print(f"its package is {'there' if own <= packages() else 'gone'}, and {len(packages())} are")
    else:
        shutil.rmtree(cache)
    if change == "remove-and-kill":
        os.kill(worker_of(run.pid), signal.SIGKILL)
    run.send_signal(signal.SIGCONT)
    for line in run.stderr:
        if "note: " in line or "error: " in line:
            print(line, end="")
    print("exit", run.wait())
finally:
    run.kill()
