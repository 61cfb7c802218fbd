#!/usr/bin/env python3
"""Runs a training as far as another one went: as_far.py HISTORY.jsonl COMMAND..., with --steps."""
import json
import subprocess
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
last = max(row["step"] for row in rows if row.get("kind", "step") == "step")
sys.exit(subprocess.run([*sys.argv[2:], "--steps", str(last)]).returncode)
