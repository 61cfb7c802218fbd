"""served_traffic.py WORKERS SERVERS FLAGS DIST_RUN_ARGUMENTS...: what workers and parameter servers count when they have sent a
step's messages, beside what dist-opt --explain says before. The runs' difference is that of their steps: what starts and ends a run
is in both. With --data of one word file words.npy, whose examples are one batch, the rows that a step looks up are those it numbers.

Framing, which --explain leaves out: a part that travels whole begins at a multiple of 64 bytes; the numbers of rows are counted, part
by part, in 8 bytes; a push is answered by 16 bytes; a worker reports each step to the chief, in 32 bytes and 16 of the loss's metric.
"""
import json
import os
import re
import struct
import subprocess
import sys

workers, servers = int(sys.argv[1]), int(sys.argv[2])
flags, words = sys.argv[3].split(), sys.argv[4:]
split = words.index("--data")
cluster = ["--strategy", "parameter-server", "--workers", str(workers), "--servers", str(servers), *flags]
program = [*words[:split], *cluster]
few, many = 3, 8
ANSWER, REPORT, NUMBER = 16, 48, 8


def counted(steps):
    run = subprocess.run(["dist-run", "fit", *program, *words[split:], "--steps", str(steps)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"note: (worker|ps) (\d+) \(process \d+\) sent (\d+) messages, (\d+) bytes", run.stderr)
    assert len(found) == workers + servers, run.stderr
    return {(job, int(index)): (int(messages), int(size)) for job, index, messages, size in found}


def looked_up(table):
    """Rows of a table that the file numbers, some from its end; each once."""
    with open("words.npy", "rb") as file:
        data = file.read()[128:]
    return {number % table for number in struct.unpack(f"<{len(data) // 8}q", data)}


def align(size):
    return (size + 63) // 64 * 64


explained = json.loads(subprocess.run(["dist-opt", *program, "--explain=json"], capture_output=True, text=True, check=True).stdout)
parts = explained["server_parts"]
sparse = {part["variable"] for part in parts if part["looked_up_by"]}
found = {name: looked_up(sum(part["size"] for part in parts if part["variable"] == name)) for name in sparse}
asks = {server: 0 for server in range(servers)}  # bytes of a worker's pull
gives, takes, dense = dict(asks), dict(asks), dict(asks)
for part in parts:
    server, pulled, pushed = part["server"], part["bytes_pulled"], part["bytes_pushed"]
    if part["variable"] not in sparse:
        assert pulled == pushed, part
        gives[server] += align(pulled)
        takes[server] += align(pushed)
        continue
    rows = sum(part["begin"] <= row < part["begin"] + part["size"] for row in found[part["variable"]])
    width = int(re.search(r"x(\d+)xf32", part["type"])[1]) * 4
    asks[server] += NUMBER + NUMBER * rows
    gives[server] += width * rows
    takes[server] += NUMBER + (NUMBER + width) * rows
    # What is explained is the most there may be.
    assert (NUMBER + width) * rows <= pushed and (NUMBER + width) * rows <= pulled, (part, rows)

less, more = counted(few), counted(many)
steps = many - few


def difference(job, which):
    """Messages and bytes of all of a job's tasks."""
    return tuple(sum(more[task][i] - less[task][i] for task in more if task[0] == job and (which is None or task[1] == which))
                 for i in range(2))


wrong = []


def expect(who, sent, messages, size):
    if sent != (steps * messages, steps * size):
        wrong.append(f"{who} sent {sent[0]} messages, {sent[1]} bytes in {steps} steps, and was to send {steps * messages}, {steps * size}")


# Whichever worker has run a step.
expect("workers", difference("worker", None), 2 * servers + 1, sum(asks.values()) + sum(takes.values()) + REPORT)
for server in range(servers):
    expect(f"server {server}", difference("ps", server), 2, gives[server] + ANSWER)
print("\n".join(wrong), end="\n" if wrong else "")
print(f"{workers} workers, {servers} servers{' '.join(['', *flags])}: {'otherwise' if wrong else 'as explained'}, a step "
      f"{sum(gives.values())} bytes pulled, {sum(takes.values())} pushed"
      f"{''.join(f', {len(rows)} rows of {name}' for name, rows in sorted(found.items()))}")
