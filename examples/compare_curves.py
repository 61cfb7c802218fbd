#!/usr/bin/env python3
"""Compares two --history files step by step: compare_curves.py A.jsonl B.jsonl [TOLERANCE].

Prints the first steps, the last epoch and the largest difference of the losses,
and exits 1 when one differs by more than TOLERANCE (1e-4) of max(|loss|, 0.1).
"""
import json
import math
import sys


def rows(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def loss(row):
    """A history has null for what is not finite."""
    return math.nan if row["loss"] is None else row["loss"]


def difference(a, b):
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else math.inf
    return abs(a - b) / max(abs(a), 0.1)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    names = sys.argv[1:3]
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
    histories = [rows(name) for name in names]
    steps = [[row for row in history if row["kind"] == "step"] for history in histories]
    if len(steps[0]) != len(steps[1]) or not steps[0]:
        sys.exit(f"{len(steps[0])} and {len(steps[1])} steps: nothing to compare")
    print(f"{'step':>6} {'first':>12} {'second':>12}")
    worst = 0.0
    for i, (a, b) in enumerate(zip(*steps)):
        worst = max(worst, difference(loss(a), loss(b)))
        if i < 5 or i == len(steps[0]) - 1:
            print(f"{a['step']:>6} {loss(a):>12.7f} {loss(b):>12.7f}")
    for name, history in zip(names, histories):
        # A run that was stopped within its first epoch has none.
        for last in [row for row in history if row["kind"] == "epoch"][-1:]:
            print(f"{name}: " + ", ".join(f"{k} {v:.4f}" for k, v in last.items() if isinstance(v, float)))
    verdict = "agree" if worst <= tolerance else "DIFFER"
    print(f"{len(steps[0])} steps {verdict}: largest relative difference of the losses {worst:.1e} (at most {tolerance:.0e})")
    sys.exit(worst > tolerance)


if __name__ == "__main__":
    main()
