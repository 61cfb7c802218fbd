"""The losses of a straight-through estimator by plain arithmetic: stopped.py FOLDER writes them, and the data.

y = (z + stop(q - z)) w, where z = x e and q is the row of a table at z's largest element: w sees q, e what z would have,
and the table nothing (source_models.py, "detached").
"""
import json
import os
import struct
import sys

ROWS, STEPS, RATE = 8, 4, 0.5
x = [[((7 * i + 5 * j) % 9 - 4) / 4 for j in range(3)] for i in range(ROWS)]
wanted = [[((4 * i + 3 * j) % 5 - 2) / 2 for j in range(2)] for i in range(ROWS)]
e = [[(7 * (4 * i + j) % 11 - 5) / 10 for j in range(4)] for i in range(3)]
table = [[(5 * (4 * i + j) % 13 - 6) / 10 for j in range(4)] for i in range(4)]
w = [[(3 * (2 * i + j) % 7 - 3) / 10 for j in range(2)] for i in range(4)]


def write(name, rows):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(rows) * len(rows[0])}f", *(v for row in rows for v in row)))


def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def turned(a):
    return [list(row) for row in zip(*a)]


def moved(a, slope):
    return [[p - RATE * q for p, q in zip(*rows)] for rows in zip(a, slope)]


os.makedirs(sys.argv[1], exist_ok=True)
write("x.npy", x)
write("wanted.npy", wanted)
with open(os.path.join(sys.argv[1], "expected.jsonl"), "w") as file:
    for step in range(1, STEPS + 1):
        q = [table[row.index(max(row))] for row in product(x, e)]
        error = [[a - b for a, b in zip(*rows)] for rows in zip(product(q, w), wanted)]
        print(json.dumps({"type": "step", "step": step, "loss": sum(v * v for row in error for v in row) / (2 * ROWS)}), file=file)
        slope = [[v / ROWS for v in row] for row in error]
        e, w = moved(e, product(turned(x), product(slope, turned(w)))), moved(w, product(turned(q), slope))
