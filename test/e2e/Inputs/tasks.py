"""What scripts have in common that run a cluster's tasks on this machine."""
import atexit
import fcntl
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

held = []
started = []


@atexit.register
def leave_none():
    """A script that fails half-way leaves no process behind."""
    for task in started:
        if task.poll() is None:
            task.kill()


def reserve():
    """The address of a port that no other program is given: bound, and not listened at."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    held.append(one)
    return f"127.0.0.1:{one.getsockname()[1]}"


def start(cluster, job, index, folder, arguments, **environment):
    """`dist-run ARGUMENTS...` as one task of a cluster, as TF_CONFIG tells it."""
    config = {"cluster": cluster, "task": {"type": job, "index": index}}
    return start_alone(folder, arguments, TF_CONFIG=json.dumps(config), **environment)


def start_alone(folder, arguments, **environment):
    """`dist-run ARGUMENTS...` that finds its cluster itself, or starts one."""
    task = subprocess.Popen(
        ["dist-run", *arguments],
        env={**os.environ, **environment},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Nobody reads them until the end: room for many lines, or the task would stand still.
    for pipe in (task.stdout, task.stderr):
        fcntl.fcntl(pipe, 1031, 1 << 20)  # F_SETPIPE_SZ, which Python 3.9 does not name
    started.append(task)
    return task


def listen(task):
    """The lines that a task writes, as they come, and who reads them."""
    task.told = []
    reader = threading.Thread(target=lambda: [task.told.append(line) for line in task.stderr], daemon=True)
    reader.start()
    return task.told, reader


def start_coordinator(address, *more):
    """A dist-run coordinator that serves, and the line that says so."""
    task = subprocess.Popen(["dist-run", "coordinator", address, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    started.append(task)
    return task, task.stdout.readline()


def launched(launcher):
    """The workers that `--workers` runs: their processes' numbers and variables, by index.

    By what they were told, for a process's number tells nothing of its age once numbers begin anew.
    """
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            _, state, parent = re.match(r"\d+ (\(.*\)) (\S) (\d+)", open(f"/proc/{name}/stat").read(), re.S).groups()
            words = open(f"/proc/{name}/environ").read().split("\0") if int(parent) == launcher and state != "Z" else []
        except OSError:
            continue  # another user's, or over
        variables = dict(word.split("=", 1) for word in words if "=" in word)
        task = json.loads(variables.get("TF_CONFIG", "{}")).get("task", {})
        # A chief beside them has the number of one of them.
        if task.get("type") == "worker" or (task.get("type") == "chief" and task["index"] not in found):
            found[task["index"]] = int(name), variables
    return found


def steps_done(folder):
    path = f"{folder}/history.jsonl"
    return sum('"kind":"step"' in line for line in open(path)) if os.path.exists(path) else 0


def free_range(count):
    """The first of so many ports that no one has now, below those that systems choose and above those of the guide's pages."""
    for first in range(24000 + os.getpid() % 700 * 10, 32000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, one in enumerate(sockets):
                one.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise SystemExit("no ports are free")


def wait_for(what, find, interval=0.05):
    """The first of what `find` returns that is true."""
    # What takes a second alone takes many on a machine with other work.
    end = time.monotonic() + 240
    over = False
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        # What none is there for any more does not come.
        if over:
            break
        over = bool(started) and all(task.poll() is not None for task in started)
        time.sleep(interval)
    # What the tasks have said tells why.
    for task in started:
        ended = task.poll()
        task.kill()
        if hasattr(task, "told"):
            time.sleep(0.5)  # what it says last is being read
            said = "".join(task.told)
        else:
            said = task.stderr.read() if task.stderr and not task.stderr.closed else ""
        print(f"== {'still there' if ended is None else f'exit {ended}'}\n{said}", file=sys.stderr)
    raise SystemExit(f"{'all tasks are over before' if over else 'not within four minutes'}: {what}")


def wait_for_steps(folder, count):
    """Until so many are done, of this run and of one that it goes on from."""
    wait_for(f"more than {count} steps", lambda: steps_done(folder) > count, interval=0.005)
