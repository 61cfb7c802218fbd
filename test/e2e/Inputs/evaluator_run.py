"""A cluster of TF_CONFIG with its evaluator, all of them given one command: evaluator_run.py FOLDER JOBS dist-run ARGUMENTS...

JOBS: worker=2, or chief=1,worker=2,ps=1. Runs in FOLDER, to the end; prints what
each has printed, and its exit code.
"""
import sys

import tasks

folder, jobs, arguments = sys.argv[1], sys.argv[2], sys.argv[4:]
cluster = {}
for part in jobs.split(","):
    job, count = part.split("=")
    cluster[job] = [tasks.reserve() for _ in range(int(count))]
started = [("evaluator", 0, tasks.start(cluster, "evaluator", 0, folder, arguments))]
for job, addresses in cluster.items():
    started += [(job, index, tasks.start(cluster, job, index, folder, arguments)) for index in range(len(addresses))]
for job, index, task in started:
    out, err = task.communicate()
    print(f"== {job} {index}: exit {task.returncode}\n{out}{err}", end="")
