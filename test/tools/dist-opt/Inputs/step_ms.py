"""The predicted milliseconds of train_step's programs, of `--explain=json` on stdin."""
import json
import sys

for entry in json.load(sys.stdin)["entries"]:
    if entry["of"] == "train_step":
        print(f"{entry['entry']}: {entry['predicted_ms']:.1f}")
