"""Whether the epochs of a history are those that another one begins with, but for their times:
same_epochs.py WHOLE.jsonl PART.jsonl [--run-again]

--run-again: a worker was killed. Had it pushed a step, but not yet told of it, another one has run the step
again, from the parameters behind it: what that epoch tells of its training may differ, no more.
"""
import json
import sys


def epochs(path):
    rows = [json.loads(line) for line in open(path)]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows if row["kind"] == "epoch"]


def evaluated(row):
    return {key: value for key, value in row.items() if key == "epoch" or key.startswith("val_")}


whole, part = map(epochs, sys.argv[1:3])
allowed = 1 if "--run-again" in sys.argv else 0
for first, second in zip(whole, part):
    if allowed > 0 and first != second and first.keys() == second.keys():
        allowed -= 1
        first, second = evaluated(first), evaluated(second)
    assert first == second, (first, second)
assert 0 < len(part) <= len(whole) and "val_loss" in part[0], part
print(f"{len(part)} epochs are the same")
