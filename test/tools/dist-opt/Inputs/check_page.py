#!/usr/bin/env python3
"""Reads a page of --explain=html: its elements close, it asks for nothing from elsewhere, its data are whole. Prints what they say."""
import json
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.data = [], ""

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID, f"<{tag}/> does not close itself"

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "href"), f"<{tag} {name}={value}>: not self-contained"
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][1].get("id") == "data":
            self.data += data


text = open(sys.argv[1], encoding="utf-8").read()
assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", text), "not self-contained"
reader = Reader()
reader.feed(text)
reader.close()
assert not reader.open, f"not closed: {reader.open}"
data = json.loads(reader.data)
print("devices", data["devices"], *["and a host"] * data["host"], "mesh", data["mesh"] or "none")
for entry in data["entries"]:
    length = entry["seconds"]
    for kind, start, end, name in entry["spans"]:
        assert kind in "ctxi" and 0 <= start <= end <= length * 1.0001 and name, (kind, start, end, name)
    for time, activations, communication in entry["live"]:
        assert 0 <= time <= length * 1.0001 and activations >= 0 and communication >= 0
    busy = sum(e - s for k, s, e, _ in entry["spans"] if k == "c")
    assert abs(busy - entry["compute"]) <= 0.1 * entry["compute"], (busy, entry["compute"])
    ops = sum(len(part["ops"]) * part["times"] for part in entry["program"])
    chains = sum(bool(t["chains"]) for t in entry["transfers"])
    print(f"{entry['name']}: {ops} ops in {len(entry['program'])} parts, {len(entry['spans'])} spans, "
          f"{len(entry['live'])} points, {len(entry['transfers'])} rows, {chains} with a chain")
    for note in entry["notes"]:
        print(f"  {entry['label'] or 'a device'}: {note}")
labels = {}
for entry in data["entries"]:
    labels.setdefault(entry["entry"], []).append(entry["label"])
assert all(len(set(of)) == len(of) for of in labels.values()), labels
if "measured" in data:
    measured = data["measured"]
    assert all(0 <= at <= measured["seconds"] for at in measured["steps"]), measured["steps"]
    assert all(kind in "ctx" for lane in measured["ranks"] for kind, *_ in lane["spans"])
    print("measured", measured["events"], "events of", len(measured["ranks"]), "ranks,", len(measured["steps"]), "steps")
