"""transfer_seconds.py EXPLAIN.json: the largest transfer of the training step, and what is predicted of all of them."""
import json
import sys

entries = json.load(open(sys.argv[1]))["entries"]
step = next(entry for entry in entries if entry["entry"] == "train_step")
row = max(step["transfers"], key=lambda row: row["bytes"])
print(f"{row['collective']} by {row['algorithm'] or 'auto'} of {row['bytes']} bytes: {step['predicted_transfer_ms'] / 1e3:f} s a step")
