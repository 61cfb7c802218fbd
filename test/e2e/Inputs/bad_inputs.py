#!/usr/bin/env python3
"""Damaged models, malformed data and wrong words must end well: bad_inputs.py PROJECT FOLDER COUNT

COUNT models are cut, bit-flipped, stretched and zeroed by a fixed seed. Each run
must end by itself with exit code 0 to 3, and with an `error:` line if not 0; what
is surely wrong must not be accepted. Prints a line for each that does otherwise.
"""
import os
import random
import struct
import subprocess
import sys

project, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
models = [os.path.join(project, name) for name in (
    "examples/models/digits-mlp.onnx", "examples/models/digits-cnn.onnx", "examples/models/tiny-transformer.onnx",
    "test/e2e/Inputs/digits-bn.onnx", "test/e2e/Inputs/digits-dropout.onnx")]
runs, bad = 0, []
os.makedirs(folder, exist_ok=True)


def run(what, command, refused=False):
    global runs
    runs += 1
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        bad.append(f"{what}: does not end")
        return
    if not 0 <= done.returncode <= 3:
        bad.append(f"{what}: exit {done.returncode} {done.stderr[-200:]}")
    elif done.returncode and "error:" not in done.stderr:
        bad.append(f"{what}: exit {done.returncode} without an error line")
    elif refused and done.returncode == 0:
        bad.append(f"{what}: accepted")


def damaged(rng):
    data = bytearray(open(rng.choice(models), "rb").read())
    kind = rng.choice(["cut", "flip", "stretch", "zero"])
    reach = min(len(data), 4000) if rng.random() < 0.7 else len(data)
    at = rng.randrange(reach)
    if kind == "cut":
        del data[at:]
    elif kind == "flip":
        for _ in range(rng.randrange(1, 12)):
            data[rng.randrange(reach)] ^= 1 << rng.randrange(8)
    elif kind == "stretch":
        data[at:at] = data[at : at + rng.randrange(1, 400)]
    else:
        data[at : at + 16] = bytes(16)
    return kind, data


def npy(name, kind, shape, values):
    """Writes NumPy's format, version 1."""
    path = os.path.join(folder, name)
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)
    return path


def floats(n, value=0.5):
    return struct.pack("<f", value) * n


rng = random.Random(1)
path = os.path.join(folder, "damaged.onnx")
for i in range(count):
    kind, data = damaged(rng)
    with open(path, "wb") as f:
        f.write(data)
    run(f"{kind} {i}", ["dist-opt", path, "--emit=graph", "-o", "/dev/null"], kind == "cut" and len(data) < 100)

mlp = models[0]
fit = ["dist-run", "fit", mlp, "--batch-size", "4", "--epochs", "1", "--loss", "sparse-categorical-crossentropy"]
x = npy("x.npy", "<f4", (8, 64), floats(512))
y = npy("y.npy", "<i8", (8,), struct.pack("<8q", *range(8)))
good = ["--data", f"x={x},y={y}"]
run("good data", fit + good)
if bad:
    sys.exit("\n".join(bad))  # nothing below would mean anything
for what, x_file, y_file in [
    ("labels out of range", x, npy("y1.npy", "<i8", (8,), struct.pack("<8q", *[99] * 8))),
    ("negative labels", x, npy("y2.npy", "<i8", (8,), struct.pack("<8q", *[-1] * 8))),
    ("wrong shape", npy("x3.npy", "<f4", (8, 20), floats(160)), y),
    ("lengths differ", x, npy("y4.npy", "<i8", (5,), struct.pack("<5q", *range(5)))),
    ("no such file", os.path.join(folder, "none.npy"), y),
    ("a model as data", mlp, mlp),
    ("no examples", npy("x6.npy", "<f4", (0, 64), b""), npy("y6.npy", "<i8", (0,), b"")),
    ("Python objects", npy("x7.npy", "|O", (8,), b"\x80\x04."), y),
    ("fewer bytes than its header says", npy("x8.npy", "<f4", (8, 64), floats(300)), y),
    ("a negative dim", npy("x9.npy", "<f4", (-8, 64), floats(512)), y),
    ("more elements than memory", npy("x10.npy", "<f4", (1 << 40, 1 << 30), floats(8)), y),
    ("an unknown type", npy("x11.npy", "<q9", (8, 64), floats(512)), y),
]:
    run(what, fit + ["--data", f"x={x_file},y={y_file}"], True)
for what, words in [
    ("a strategy's name", ["--strategy", "miror"]),
    ("an optimizer's name", ["--optimizer", "adm:lr=1"]),
    ("an optimizer's key", ["--optimizer", "adam:rate=1"]),
    ("no devices", ["--devices", "cpu:0"]),
    ("an unknown device", ["--devices", "gpu:9"]),
    ("a folder that is not there", ["--history", "/nonexistent/h.jsonl"]),
    ("a full disk", ["--output", "/dev/full"]),
    ("an unknown option", ["--frobnicate"]),
    ("a range beyond the data", ["--validation-data", f"x={x}[4:99],y={y}[4:99]"]),
]:
    run(what, fit + good + words, True)
for word in ["0", "-3", "many", "1e3", ""]:
    run(f"batch of {word!r}", ["dist-run", "fit", mlp, *good, "--loss", "sparse-categorical-crossentropy", "--batch-size", word], True)
for what, command in [
    ("no model", ["dist-run", "fit", os.path.join(folder, "none.onnx"), *good]),
    ("an empty model", ["dist-run", "info", "/dev/null"]),
    ("a folder as a model", ["dist-run", "info", folder]),
    ("text as a model", ["dist-run", "info", __file__]),
]:
    run(what, command, True)
print(*bad, sep="\n")
print(f"{runs - len(bad)} of {runs} bad inputs end well")
sys.exit(bool(bad))
