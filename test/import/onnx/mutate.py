"""Writes damaged copies of the import tests' models: mutate.py FOLDER COUNT.
The same every time."""
import os
import random
import sys

from models import MODELS

folder, count = sys.argv[1], int(sys.argv[2])
os.makedirs(folder, exist_ok=True)
seeds = [make() for make in MODELS.values()]
for i in range(count):
    choose = random.Random(i)
    data = bytearray(choose.choice(seeds))
    for _ in range(choose.choice((1, 1, 2, 4, 16))):
        at = choose.randrange(len(data))
        kind = choose.randrange(6)
        if kind == 0:
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            data[at] = choose.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del data[at:at + choose.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = bytes(choose.randrange(256) for _ in range(choose.randrange(1, 9)))
        elif kind == 4:
            other = choose.choice(seeds)
            start = choose.randrange(len(other))
            data[at:at] = other[start:start + choose.randrange(1, 64)]
        else:
            del data[at:]
        if not data:
            data = bytearray(b"\x08")
    with open(os.path.join(folder, "%04d.onnx" % i), "wb") as file:
        file.write(data)
