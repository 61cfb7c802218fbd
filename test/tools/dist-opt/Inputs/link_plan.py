"""link_plan.py WEIGHED.txt PLAN ASKED.json: whether a plan's row has the transfers that are predicted where it is asked for."""
import json
import re
import sys

weighed, plan, asked = sys.argv[1:]
row = next(line for line in open(weighed) if line[2:].startswith(plan + " "))
planned = float(re.search(r"transfers +([0-9.]+) ms", row)[1])
steps = [entry for entry in json.load(open(asked))["entries"] if entry["entry"].startswith("train_step_stage")]
predicted = max(step["predicted_exposed_ms"] for step in steps)
print("same" if abs(planned - predicted) <= 0.002 * predicted else f"planned {planned}, predicted {predicted}")
