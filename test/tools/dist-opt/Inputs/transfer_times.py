"""Compares the transfers of a training step of two explanations: `transfer_times.py A.json B.json`."""
import json
import sys

steps = []
for path in sys.argv[1:]:
    with open(path) as file:
        steps.append(next(entry for entry in json.load(file)["entries"] if entry["entry"] == "train_step"))
sent = [sum(row["bytes_sent"] for row in step["transfers"]) for step in steps]
times = ", ".join(f"{step['predicted_transfer_ms']:.4f} ms" for step in steps)
print(f"bytes {'equal' if sent[0] == sent[1] else sent}; transfers {times}")
