"""Compares the estimate of a step's memory with what the compiled step plans.

    check_memory.py REPORT [SMALLER]: `dist-opt --explain=json`; the step of SMALLER takes less by both.
"""
import json
import sys


def read(path):
    with open(path) as f:
        entries = json.load(f)["entries"]
    return [(e["entry"], e["memory"]) for e in entries if e["of"] == "train_step"]


def estimate(memory):
    return memory["activations"] + memory["gradients"] + memory["communication"]


reports = [read(path) for path in sys.argv[1:]]
for name, memory in reports[0]:
    # Fusion only ever removes values, and removes no more than half of them.
    ratio = memory["arena"] / estimate(memory)
    assert 0.45 <= ratio <= 1, f"{name}: {memory['arena']} bytes are planned, {estimate(memory)} estimated"
if len(reports) > 1:
    for (name, all_kept), (_, smaller) in zip(*reports):
        assert estimate(smaller) < estimate(all_kept) and smaller["arena"] < all_kept["arena"], name
print(f"{len(reports[0])} steps agree")
