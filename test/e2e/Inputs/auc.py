"""The area under the ROC curve by its definition: how many of the pairs of a positive and a negative are in order.

    auc.py make FOLDER                 writes x.npy and y.npy: 53 examples of 64 numbers and 10 labels each
    auc.py check FOLDER OUTPUT JSON... whether OUTPUT's predictions and every JSON's `auc` say the same
"""
import json
import random
import struct
import sys

EXAMPLES, INPUTS, LABELS, THRESHOLDS = 53, 64, 10, 200


def write(path, shape, values):
    head = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(data) // 4}f", data)


folder = sys.argv[2]
if sys.argv[1] == "make":
    draw = random.Random(7)
    write(f"{folder}/x.npy", (EXAMPLES, INPUTS), [draw.random() for _ in range(EXAMPLES * INPUTS)])
    write(f"{folder}/y.npy", (EXAMPLES, LABELS), [float(draw.random() < 0.3) for _ in range(EXAMPLES * LABELS)])
    sys.exit()
labels, scores = read(f"{folder}/y.npy"), read(sys.argv[3])
# Between the same two thresholds they are equal.
scores = [-(-score * (THRESHOLDS - 1) // 1) for score in scores]
positive = [s for s, y in zip(scores, labels) if y]
negative = [s for s, y in zip(scores, labels) if not y]
right = sum((p > n) + (p == n) / 2 for p in positive for n in negative) / len(positive) / len(negative)
found = [json.load(open(path))["auc"] for path in sys.argv[4:]]
print(f"{right:.6f}: " + ("all agree" if all(abs(one - right) < 1e-6 for one in found) else f"differ, {found}"))
