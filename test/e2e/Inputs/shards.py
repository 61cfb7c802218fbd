#!/usr/bin/env python3
"""Digits in files of unequal length, and what two workers that read a file each give to a step of 32.

shards.py DIGITS-FOLDER FOLDER writes x-0, y-0 (48 examples) and x-1, y-1 (24): worker 0's file and worker 1's. Each
gives 16 to a step while it has any, so that steps are of 32, 24 and 16 examples: step-1-x, step-1-y, ... have those.
shards.py compare SHARDED.jsonl STEP.jsonl... exits 1 unless the steps of the first are the only ones of the others."""
import gzip
import json
import os
import struct
import sys


def write(folder, name, images, labels, indices):
    with open(os.path.join(folder, name.format("x")), "wb") as f:
        f.write(struct.pack(">IIII", 0x803, len(indices), 8, 8))
        f.write(b"".join(images[64 * i : 64 * i + 64] for i in indices))
    with open(os.path.join(folder, name.format("y")), "wb") as f:
        f.write(struct.pack(">II", 0x801, len(indices)))
        f.write(bytes(labels[i] for i in indices))


def make(source, folder):
    images = gzip.open(os.path.join(source, "train-images-idx3-ubyte.gz")).read()[16:]
    labels = gzip.open(os.path.join(source, "train-labels-idx1-ubyte.gz")).read()[8:]
    files = [list(range(48)), list(range(48, 72))]
    for number, indices in enumerate(files):
        write(folder, "{}-%d" % number, images, labels, indices)
    for step in range(3):
        both = [i for indices in files for i in indices[16 * step : 16 * step + 16]]
        write(folder, "step-%d-{}" % (step + 1), images, labels, both)


def steps(path):
    rows = [json.loads(line) for line in open(path)]
    return [(row["examples"], row["loss"]) for row in rows if row["kind"] == "step"]


def compare(sharded, parts):
    ours, theirs = steps(sharded), [step for part in parts for step in steps(part)]
    worst = max(abs(a[1] - b[1]) for a, b in zip(ours, theirs))
    print(f"{[examples for examples, loss in ours]} examples, largest difference {worst:.1e}")
    if [a[0] for a in ours] != [b[0] for b in theirs] or worst > 1e-5:
        sys.exit(f"expected {theirs}, but got {ours}")


if sys.argv[1] == "compare":
    compare(sys.argv[2], sys.argv[3:])
else:
    make(*sys.argv[1:])
