"""Whole jobs that are stopped for a while, as a machine's sleep does it: suspended.py SECONDS MODEL ARGUMENTS...

Each strategy's job runs twice: once stopped in the middle, all of it at once, the launcher with it; and once as it is, while the others
sleep. What is told of losses must be the same to the bit, and nobody may have been missed.
"""
import atexit
import json
import os
import re
import signal
import sys
import time

import tasks

seconds, arguments = float(sys.argv[1]), sys.argv[2:]
jobs = {
    "mirrored": "multi-worker-mirrored --workers 3 --checkpoint states --save-every 100",
    "elastic": "multi-worker-mirrored --workers 2 --elastic",
    "served": "parameter-server --workers 1 --servers 2",
}


def start(folder, strategy):
    os.makedirs(folder)
    task = tasks.start_alone(folder, ["fit", *arguments, "--history", "history.jsonl", "--strategy", *strategy.split()])
    tasks.listen(task)
    return task


def descendants(process):
    """A process and all that it has started, and these."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(name)] = int(re.match(r"\d+ \(.*\) \S (\d+)", open(f"/proc/{name}/stat").read(), re.S)[1])
        except OSError:
            continue  # it has ended meanwhile
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def losses(folder):
    rows = [json.loads(line) for line in open(f"{folder}/history.jsonl")]
    return [(row["kind"], row.get("step"), row["epoch"], row["loss"]) for row in rows]


@atexit.register
def wake_all():
    """A launcher that is killed ends its workers, but for those that sleep."""
    for task in running.values():
        for process in getattr(task, "stopped", []) if task.poll() is None else []:
            try:
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                pass


running = {}
for name, strategy in jobs.items():
    running[name] = start(name, strategy)
    tasks.wait_for_steps(name, 30)
    stopped = descendants(running[name].pid)
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    running[name].stopped, running[name].at = stopped, tasks.steps_done(name)
asleep = time.monotonic()
for name, strategy in jobs.items():
    assert start(f"{name}-alone", strategy).wait(240) == 0, name
time.sleep(max(0, asleep + seconds - time.monotonic()))
for name, task in running.items():
    assert tasks.steps_done(name) == task.at, f"{name} went on"
    for process in task.stopped:
        os.kill(process, signal.SIGCONT)
for name, task in running.items():
    code = task.wait(240)
    alone = losses(f"{name}-alone")
    missed = [line for line in task.told if re.search("error|warning|sign of life|given up|going on with", line)]
    is_midway = 0 < task.at < sum(row[0] == "step" for row in alone)
    print(f"{name}: exit {code}, {'stopped in the middle' if is_midway else 'it was over'}, "
          f"{'the same' if losses(name) == alone else 'other'} losses\n{''.join(missed)}", end="")
