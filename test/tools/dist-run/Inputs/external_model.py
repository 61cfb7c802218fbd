#!/usr/bin/env python3
"""Writes a model y = x * w whose w = [N, N+1, N+2, N+3] lies in another file, and x.pb
of four ones beside it: external_model.py MODEL LOCATION N. A file that is there is
changed in place: its size and times stay as they were."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../import/onnx"))
from models import model, node, num, sub, value  # noqa: E402

path, location, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
folder = os.path.dirname(path)
entry = sub(13, sub(1, "location") + sub(2, location))
tensor = num(1, 4) + num(2, 1) + sub(8, "w") + entry + num(14, 1)
parts = node("Mul", ["x", "w"], ["y"]), sub(5, tensor), value(11, "x", ["N", 4]), value(12, "y", ["N", 4])


def write(target, data):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    before = os.stat(target) if os.path.exists(target) else None
    with open(target, "r+b" if before else "wb") as file:
        file.write(data)
    if before:
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


write(path, model(*parts))
write(os.path.join(folder, location), struct.pack("<4f", *range(number, number + 4)))
write(os.path.join(folder, "x.pb"), num(1, 1) + num(1, 4) + num(2, 1) + sub(8, "x") + sub(9, struct.pack("<4f", 1, 1, 1, 1)))
