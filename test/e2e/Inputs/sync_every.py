"""sync_every.py sent A.err B.err: how much less worker 0 sent in B than in A.
sync_every.py learns A.jsonl B.jsonl: whether B's last epoch is about as good as A's."""
import json
import re
import sys


def sent(path):
    with open(path, encoding="utf-8") as f:
        found = re.search(r"worker 0 \(process \d+\) sent (\d+) messages, (\d+) bytes", f.read())
    return int(found.group(1)), int(found.group(2))


def last_epoch(path):
    with open(path, encoding="utf-8") as f:
        return [row for row in map(json.loads, f) if row["kind"] == "epoch"][-1]


what, *paths = sys.argv[1:]
if what == "sent":
    (messages, size), (fewer, less) = map(sent, paths)
    print(f"bytes: {size / less:.1f} times fewer ({size} and {less})")
    print(f"messages: {'fewer' if fewer < messages else 'more'} ({messages} and {fewer})")
else:
    a, b = map(last_epoch, paths)
    good = b["loss"] < 1.5 * a["loss"] + 0.1 and b["accuracy"] > a["accuracy"] - 0.1
    print("learns" if good else "lags", a, b)
