"""Runs a program as a chief, two workers and two parameter servers of this machine.

    start.py PROGRAM ARGUMENTS...

Each gets TF_CONFIG with the same cluster and a task of its own.
"""
import json
import os
import socket
import subprocess
import sys

# Ports that no other program is given: bound, so that they are taken, and not
# listened at, so that the tasks may.
sockets = [socket.socket() for _ in range(5)]
for one in sockets:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
cluster = {"chief": addresses[:1], "worker": addresses[1:3], "ps": addresses[3:]}
tasks = {}
for job in cluster:
    for index in range(len(cluster[job])):
        config = {"cluster": cluster, "task": {"type": job, "index": index}}
        tasks[job, index] = subprocess.Popen(sys.argv[1:], env={**os.environ, "TF_CONFIG": json.dumps(config)})
code = tasks["chief", 0].wait()
for (job, index), task in tasks.items():
    if job != "chief":
        print(f"{job} {index}: exit {task.wait()}", flush=True)
sys.exit(code)
