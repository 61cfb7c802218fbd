"""tasks_of.py JOBS ARGUMENTS...: `dist-run ARGUMENTS...` as each task of a cluster on this machine, by its TF_CONFIG, and what becomes
of it, for FileCheck. JOBS: as {"chief": 1, "worker": 2}."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../e2e/Inputs"))
import tasks  # noqa: E402

cluster = {job: [tasks.reserve() for _ in range(count)] for job, count in json.loads(sys.argv[1]).items()}
started = [(job, index, tasks.start(cluster, job, index, ".", sys.argv[2:])) for job in cluster for index in range(len(cluster[job]))]
for job, index, task in started:
    out, err = task.communicate()
    print(f"== {job} {index}: exit {task.returncode}\n{out}{err}", end="")
