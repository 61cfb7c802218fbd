#!/usr/bin/env python3
"""Writes a recurrent model, data for it, and the losses of training it: recurrent_training.py TESTS FOLDER

A bidirectional LSTM with peepholes and a GRU over what it gives; FOLDER/model.onnx, x.npy, l.npy
(lengths of the sequences), y.npy and history.jsonl: the losses of STEPS steps of SGD on the whole of
it, computed in plain loops, their gradients by central differences; next.jsonl: the loss behind
them. TESTS: the folder of the tests.
Needs no package.
"""
import json
import os
import struct
import sys

tests, folder = sys.argv[1:3]
sys.path.insert(0, os.path.join(tests, "import", "onnx"))
from cases import Array, make, some  # noqa: E402
from models import model, node, tensor, value  # noqa: E402
from recurrent import recurrent, scaled  # noqa: E402

STEPS, RATE, TIME, BATCH = 3, 0.5, 9, 2
os.makedirs(folder, exist_ok=True)
x = scaled(some(BATCH, TIME, 1), 0.8)
y = scaled(some(BATCH, 2), 0.7)
lengths = [TIME, 5]
weights = {"lstm.w": [2, 8, 1], "lstm.r": [2, 8, 2], "lstm.b": [2, 16], "lstm.p": [2, 6],
           "gru.w": [1, 6, 4], "gru.r": [1, 6, 2], "gru.b": [1, 12]}
weights = {name: scaled(some(*dims), 0.3 + 0.05 * i) for i, (name, dims) in enumerate(weights.items())}


def loss(w):
    """The mean of squares of what the GRU ends with, as PyTorch and Keras have it."""
    turned = make([TIME, BATCH, 1], lambda t, n, i: x[n, t, i])
    both = recurrent("LSTM", turned, w["lstm.w"], w["lstm.r"], w["lstm.b"], lengths, p=w["lstm.p"],
                     direction="bidirectional")[0]
    joined = make([TIME, BATCH, 4], lambda t, n, j: both[t, j // 2, n, j % 2])
    last = recurrent("GRU", joined, w["gru.w"], w["gru.r"], w["gru.b"], lengths, linear=1)[1]
    return sum((last[0, n, j] - y[n, j]) ** 2 for n in range(BATCH) for j in range(2)) / (2 * BATCH)


def gradient(w, size=1e-4):
    result = {}
    for name, array in w.items():
        slopes = []
        for i in range(len(array.values)):
            ends = []
            for sign in (size, -size):
                values = list(array.values)
                values[i] += sign
                ends.append(loss({**w, name: Array(array.dims, values)}))
            slopes.append((ends[0] - ends[1]) / (2 * size))
        result[name] = slopes
    return result


def npy(name, array):
    head = "{'descr': '<%s4', 'fortran_order': False, 'shape': (%s,), }" % (
        "i" if array.kind == "i" else "f", ", ".join(map(str, array.dims)))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                   + struct.pack("<%d%s" % (len(array.values), array.kind), *array.values))


npy("x.npy", x)
npy("y.npy", y)
npy("l.npy", Array([BATCH], lengths, "i"))
with open(os.path.join(folder, "model.onnx"), "wb") as file:
    file.write(model(
        node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        node("LSTM", ["t", "lstm.w", "lstm.r", "lstm.b", "l", "", "", "lstm.p"], ["both"], "lstm",
             direction="bidirectional", hidden_size=2),
        node("Transpose", ["both"], ["turned"], perm=[0, 2, 1, 3]), node("Reshape", ["turned", "to"], ["joined"]),
        node("GRU", ["joined", "gru.w", "gru.r", "gru.b", "l"], ["", "end"], "gru", linear_before_reset=1),
        node("Squeeze", ["end", "first"], ["p"]),
        *(tensor(name, array.dims, array.values) for name, array in weights.items()),
        tensor("to", [3], [0, 0, -1], "q"), tensor("first", [1], [0], "q"),
        value(11, "x", ["batch", TIME, 1]), value(11, "l", ["batch"], 6), value(12, "p", ["batch", 2])))
def write_losses(name, losses):
    with open(os.path.join(folder, name), "w") as file:
        for step, number in enumerate(losses, 1):
            file.write(json.dumps({"kind": "step", "epoch": step, "step": step, "loss": number}) + "\n")


losses = []
for step in range(STEPS):
    losses.append(loss(weights))
    slopes = gradient(weights)
    weights = {name: Array(array.dims, [v - RATE * s for v, s in zip(array.values, slopes[name])])
               for name, array in weights.items()}
write_losses("history.jsonl", losses)
write_losses("next.jsonl", [loss(weights)])
