#!/usr/bin/env python3
"""Whether an evaluation is of a run's best epoch: best_epoch.py HISTORY METRIC EVALUATION METRIC"""
import json
import sys

history, metric, evaluation, name = sys.argv[1:]
values = [row[metric] for row in map(json.loads, open(history)) if row["kind"] == "epoch"]
best, last = max(values), values[-1]
found = json.load(open(evaluation))[name]
assert abs(found - best) < 1e-6, (found, best)
print("the best of", len(values), "epochs, before the last" if last < best else "epochs: the last")
