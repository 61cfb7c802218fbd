"""link_levels.py EXPLAIN.json: of the training step the collectives with their algorithms, and what passes the links of each level."""
import json
import sys

entries = json.load(open(sys.argv[1]))["entries"]
step = next(entry for entry in entries if entry["entry"] == "train_step")
for row in sorted({(row["collective"], row["axes"], row["algorithm"]) for row in step["transfers"]}):
    print(*filter(None, row))
for level in step["levels"]:
    print(f"level {level['level']}: {level['messages']} messages, {level['bytes']} bytes, of one rank {level['most_messages']} and {level['most_bytes']}")
for who, rows in (("as processes count it", step["sent"]), ("the levels' sum", step["levels"])):
    print(f"{who}: {sum(row['messages'] for row in rows)} messages, {sum(row['bytes'] for row in rows)} bytes")
assert step["predicted_transfer_ms"] > 0
