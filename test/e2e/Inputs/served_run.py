"""A cluster with parameter servers on this machine, each process with its TF_CONFIG.

    served_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` as chief 0, worker 0, worker 1 and ps 0 in FOLDER, does what
the case says to those that WHO names, and prints what becomes of each, for FileCheck.
"""
import os
import re
import signal
import subprocess
import sys
import urllib.request

import tasks

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]


def wait_for(text):
    """Reads what the chief says until it says this."""
    for line in processes["chief 0"].stderr:
        if "epoch" not in line:
            print(line, end="")
        if text in line:
            return
    raise SystemExit(f"the chief never said: {text}")


if "ETCD" in os.environ:
    from etcds import Etcd

    arguments += ["--coordination", Etcd(1).url()]
cluster = {"chief": [tasks.reserve()], "worker": [tasks.reserve(), tasks.reserve()], "ps": [tasks.reserve()]}
before = tasks.steps_done(folder)  # of a run that this one goes on from
processes = {
    f"{job} {index}": tasks.start(cluster, job, index, folder, arguments)
    for job in cluster
    for index in range(len(cluster[job]))
}
tasks.wait_for_steps(folder, before + 10)
victims = os.environ.get("WHO", "worker 0").split(",")
if case in ("kill", "stop", "freeze"):
    for victim in victims:
        processes[victim].send_signal({"kill": signal.SIGKILL, "stop": signal.SIGTERM, "freeze": signal.SIGSTOP}[case])
elif case in ("return", "wake"):
    # It comes back while the others work: killed and started again, or frozen and awake;
    # TIMES times, each as soon as it is back.
    for _ in range(int(os.environ.get("TIMES", "1"))):
        processes["worker 0"].send_signal(signal.SIGKILL if case == "return" else signal.SIGSTOP)
        wait_for("worker 0 is lost")
        if case == "return":
            processes["worker 0"].communicate(timeout=240)
            processes["worker 0"] = tasks.start(cluster, "worker", 0, folder, arguments)
        else:
            processes["worker 0"].send_signal(signal.SIGCONT)
        wait_for("is back")
    tasks.wait_for_steps(folder, tasks.steps_done(folder) + 100)
    processes["ps 0"].send_signal(signal.SIGTERM)
elif case == "watch":
    metrics = next(line.split()[-1] for line in processes["chief 0"].stderr if "metrics at" in line)

    def ask():
        """What it says, once it has heard of ten steps from all."""
        told = subprocess.run(["dist-run", "status", cluster["chief"][0]], check=True, capture_output=True, text=True).stdout
        return told if len(re.findall(r"works  \d\d", told)) == len(processes) else ""

    print(tasks.wait_for("beats of all that tell of steps", ask))
    print(urllib.request.urlopen(metrics, timeout=60).read().decode())
    processes["ps 0"].send_signal(signal.SIGTERM)
elif case != "train":
    raise SystemExit(f"no case {case}")
for name, task in processes.items():
    if case == "freeze" and name in victims:
        continue
    out, err = task.communicate(timeout=240)
    print(f"== {name}: exit {task.returncode}\n{out}{err}", end="")
for victim in victims if case == "freeze" else []:
    # It wakes up when all is over, and finds that out.
    processes[victim].send_signal(signal.SIGCONT)
    out, err = processes[victim].communicate(timeout=240)
    print(f"== {victim}, awake: exit {processes[victim].returncode}\n{out}{err}", end="")
