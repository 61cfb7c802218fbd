"""Whether sessions allocated what --explain=json plans: check_planned_messages.py REPORT.json OUTPUT-OF-process_training"""
import json
import re
import sys

entries = json.load(open(sys.argv[1]))["entries"]
most = max((entry["memory"] for entry in entries), key=lambda memory: memory["planned"])
allocated = int(re.search(r"device (\d+) bytes", open(sys.argv[2]).read())[1])
assert most["messages"] > 0, most
print("same" if most["planned"] == allocated else f"planned {most['planned']}, allocated {allocated}", f"{most['messages']} bytes of messages", sep=", ")
