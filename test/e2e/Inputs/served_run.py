"""A cluster with parameter servers on this machine, each process with its TF_CONFIG.

    served_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as chief 0, worker 0, worker 1 and ps 0 in FOLDER, does what
the case says, and prints what becomes of each, for FileCheck.
"""
import os
import signal
import sys

import tasks

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
cluster = {"chief": [tasks.reserve()], "worker": [tasks.reserve(), tasks.reserve()], "ps": [tasks.reserve()]}
before = tasks.steps_done(folder)  # of a run that this one goes on from
if case == "freeze":
    arguments += ["--collective-timeout", "2"]
processes = {
    f"{job} {index}": tasks.start(cluster, job, index, folder, arguments)
    for job in cluster
    for index in range(len(cluster[job]))
}
tasks.wait_for_steps(folder, before + 10)
victim = os.environ.get("WHO", "worker 0")
if case in ("kill", "stop", "freeze"):
    processes[victim].send_signal({"kill": signal.SIGKILL, "stop": signal.SIGTERM, "freeze": signal.SIGSTOP}[case])
elif case != "train":
    raise SystemExit(f"no case {case}")
for name, task in processes.items():
    if case == "freeze" and name == victim:
        continue
    out, err = task.communicate(timeout=120)
    print(f"== {name}: exit {task.returncode}\n{out}{err}", end="")
if case == "freeze":
    # It wakes up when all is over, and finds that out.
    processes[victim].send_signal(signal.SIGCONT)
    out, err = processes[victim].communicate(timeout=120)
    print(f"== {victim}, awake: exit {processes[victim].returncode}\n{out}{err}", end="")
