#!/usr/bin/env python3
"""Whether epochs' losses are weighted sums: sum_of_losses.py HISTORY NAME=WEIGHT..."""
import json
import sys

epochs = [row for row in map(json.loads, open(sys.argv[1])) if row["kind"] == "epoch"]
parts = [(name, float(weight)) for name, weight in (word.split("=") for word in sys.argv[2:])]
for row in epochs:
    for front in ("", "val_"):
        whole, total = row[front + "loss"], sum(row[front + name] * weight for name, weight in parts)
        assert abs(whole - total) < 1e-5 * whole, (whole, total)
print(len(epochs), "epochs: the loss is the sum")
