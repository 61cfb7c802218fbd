"""Whether the epochs of a history are those that another one begins with, but for their times: same_epochs.py WHOLE.jsonl PART.jsonl"""
import json
import sys


def epochs(path):
    rows = [json.loads(line) for line in open(path)]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows if row["kind"] == "epoch"]


whole, part = map(epochs, sys.argv[1:])
for first, second in zip(whole, part):
    assert first == second, (first, second)
assert 0 < len(part) <= len(whole) and "val_loss" in part[0], part
print(f"{len(part)} epochs are the same")
