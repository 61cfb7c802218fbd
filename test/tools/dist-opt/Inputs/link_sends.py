"""link_sends.py EXPLAIN.json: of each stage's prediction how many values it sends, and the seconds that these are predicted to take."""
import json
import sys

for entry in json.load(open(sys.argv[1]))["entries"]:
    if entry["entry"].startswith("predict"):
        print(f"stage {entry['stage']}: {len(entry['transfers'])} sends, {round(entry['predicted_transfer_ms'] / 1e3)} s")
