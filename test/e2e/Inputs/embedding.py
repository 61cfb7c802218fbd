"""Writes a classifier of bags of words by two tables, model.onnx, and examples for it, words.npy and classes.npy.

    embedding.py FOLDER ROWS

Each example has 8 of ROWS words, some numbered from the table's end; its class is that
of most of them. Needs no package.
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../import/onnx"))
from models import model, node, tensor, value  # noqa: E402

folder, rows = sys.argv[1], int(sys.argv[2])
width, length, classes, examples = 16, 8, 4, 300
random.seed(7)


def weight(name, *dims):
    count = 1
    for dim in dims:
        count *= dim
    return tensor(name, dims, [random.uniform(-0.3, 0.3) for _ in range(count)])


with open(f"{folder}/model.onnx", "wb") as f:
    f.write(model(
        node("Cast", ["words"], ["ids"], to=6), node("Gather", ["table", "ids"], ["looked"], "lookup", axis=0),
        node("ReduceMean", ["looked"], ["mean"], axes=[1], keepdims=0),
        node("Gather", ["tags", "words"], ["tagged"], axis=0),
        node("ReduceMean", ["tagged"], ["tag"], axes=[1], keepdims=0),
        node("Concat", ["mean", "tag"], ["both"], axis=1), node("Gemm", ["both", "w1", "b1"], ["h"]), node("Tanh", ["h"], ["t"]),
        node("Gemm", ["t", "w2", "b2"], ["logits"]), node("Softmax", ["logits"], ["y"], axis=-1),
        weight("table", rows, width), weight("tags", rows, 3), weight("w1", width + 3, 8), weight("b1", 8),
        weight("w2", 8, classes), weight("b2", classes),
        value(11, "words", ["n", length], 7), value(12, "y", ["n", classes])))


def write(name, values, dims):
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {dims}, }}".encode().ljust(117) + b"\n"
    with open(f"{folder}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}q", *values))


of = [i % classes for i in range(examples)]
words = [random.randrange(rows // 4) * 4 + one if random.random() < 0.7 else random.randrange(rows) for one in of for _ in range(length)]
write("words", [word - rows if i % 5 == 0 else word for i, word in enumerate(words)], (examples, length))
write("classes", of, (examples,))
