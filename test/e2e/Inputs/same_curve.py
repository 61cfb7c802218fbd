#!/usr/bin/env python3
"""Whether runs give one run's losses: same_curve.py WHOLE.jsonl PART.jsonl..., steps by number."""
import json
import sys


def losses(path):
    rows = [json.loads(line) for line in open(path)]
    return {row["step"]: row["loss"] for row in rows if row.get("kind", "step") == "step"}


whole = losses(sys.argv[1])
parts = {}
for path in sys.argv[2:]:
    parts.update(losses(path))
missing = sorted(set(whole) ^ set(parts))
worst = max((abs(parts[step] - loss) / max(1, abs(loss)) for step, loss in whole.items() if step in parts), default=1)
print(f"{len(whole)} steps, missing {missing[:3]}, largest difference {worst:.1e}: "
      + ("same" if not missing and worst <= 1e-4 else "different"))
