"""A cluster whose tasks are on hosts of their own (hosts.py): what its strategies do
there beside one process, what passes the wires, and what becomes of it when packets are lost or a
host is cut off.

    hosts_run.py CASE FOLDER ARGUMENTS...

Runs `dist-run ARGUMENTS...` on each of the case's hosts, in FOLDER, for FileCheck.
"""
import json
import os
import re
import sys
import time

import tasks
from hosts import Hosts

case, folder, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
PORT = 2222
if os.path.exists(f"{folder}/history.jsonl"):
    os.remove(f"{folder}/history.jsonl")


class Cluster:
    """The tasks, in order: chief first."""

    def __init__(self, hosts, jobs):
        self.hosts = hosts
        cluster = {}
        places = []
        for host, job in enumerate(jobs):
            cluster.setdefault(job, []).append(f"{hosts.address[host]}:{PORT}")
            places.append((job, len(cluster[job]) - 1))
        self.tasks = []
        for host, (job, index) in enumerate(places):
            config = json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
            self.tasks.append(
                (job, index, hosts.start(host, ["dist-run", *arguments], cwd=folder, env={**os.environ, "TF_CONFIG": config}))
            )

    def finish(self, limit=120):
        texts = []
        for job, index, task in self.tasks:
            out, err = task.communicate(timeout=limit)
            texts.append(err)
            print(f"== {job} {index}: exit {task.returncode}\n{out}{err}", end="")
        return texts


def train(**options):
    """Each host's bytes on the wire, beside those of its messages, which frames and beats add to."""
    jobs = os.environ["JOBS"].split(",")
    with Hosts(len(jobs), **options) as hosts:
        lost = int(os.environ.get("LOSE", "0"))
        if lost:
            hosts.lose(lost)
        before, begin = [hosts.wire(i) for i in range(hosts.count)], time.monotonic()
        texts = Cluster(hosts, jobs).finish()
        # 45 to 61 KB to meet and to greet; then beats and questions to the store, for as long as a busy machine makes the run.
        control = 90000 + int(15000 * (time.monotonic() - begin))
        for i, text in enumerate(texts):
            sent = re.search(r"sent \d+ messages, (\d+) bytes", text)
            if not sent:
                continue
            # Headers of 66 bytes a segment of 1448, those of messages, and what control takes; on a busy machine answers
            # are late, and segments are sent twice.
            wire, sent = hosts.wire(i) - before[i], int(sent[1])
            most = 0.15 * sent + control + 1514 * hosts.resent(i)
            amount = "its messages" if 0 < wire - sent < most else f"{100 * wire // sent} % of its messages"
            print(f"host {i}: its link carried {amount}")
        if lost:
            print(f"{'some' if sum(map(hosts.dropped, range(hosts.count))) else 'NO'} packets were lost")


def delayed():
    train(delay=float(os.environ["DELAY"]))


def partition():
    """The last host is cut off in mid-run; its processes go on without hearing anything."""
    with Hosts(int(os.environ["HOSTS"])) as hosts:
        cluster = Cluster(hosts, ["worker"] * hosts.count)
        tasks.wait_for_steps(folder, 20)
        begin = time.time()
        hosts.cut_off(hosts.count - 1)
        cluster.finish()
        print(f"over {time.time() - begin:.1f} s after the cut")


globals()[case.replace("-", "_")]()
