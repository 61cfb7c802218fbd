#!/usr/bin/env python3
"""Measures the memory that a large model file takes: large_model.py FOLDER FORM LAYERS.
(`write PATH FORM WIDTH LAYERS`, or FORM `tables`, is how it has models written: by a process of its own,
since a child's peak counts what its parent held when it began.)

Writes a model of LAYERS dense layers of 2048 x 2048 (16 MiB each), its weights as FORM
says (raw, external, float_data), and a small one of one narrow layer. Prints of each
command by how many times the file's size its peak is above that for the small one:
`output` is what writing the trained model adds to training it, `predict` is of a package
that looks up rows of as large tables, which no kernel has in another layout, and
`embedded` is opening it through the C API, which maps no files."""
import array
import os
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../import/onnx"))
from models import model, node, num, sub, value  # noqa: E402

ROWS = 32


def weights(width, seed):
    """Rows that are parts of one sequence: fast, and no two layers are equal."""
    random.seed(seed)
    line = array.array("f", (random.uniform(-1, 1) / width for _ in range(3 * width))).tobytes()
    starts = [random.randrange(2 * width) * 4 for _ in range(width)]
    return b"".join(line[start:start + 4 * width] for start in starts)


def write_model(path, form, width, layers):
    parts, x, offset = [], "x", 0
    with open(path + ".data", "wb") as external:
        for i in range(layers):
            data = weights(width, i)
            tensor = num(1, width) + num(1, width) + num(2, 1) + sub(8, f"w{i}")
            if form == "external":
                pairs = {"location": os.path.basename(path) + ".data", "offset": str(offset), "length": str(len(data))}
                tensor += b"".join(sub(13, sub(1, k) + sub(2, v)) for k, v in pairs.items()) + num(14, 1)
                external.write(data)
                offset += len(data)
            else:
                tensor += sub(9 if form == "raw" else 4, data)
            parts += [sub(5, tensor), node("MatMul", [x, f"w{i}"], [f"y{i}"])]
            x = f"y{i}"
    parts += [value(11, "x", ["N", width]), value(12, x, ["N", width])]
    with open(path, "wb") as file:
        file.write(model(*parts))


def write_tables(path, width, layers):
    tables = [sub(5, num(1, width) + num(1, width) + num(2, 1) + sub(8, f"w{i}") + sub(9, weights(width, i)))
              for i in range(layers)]
    lookups = [node("Gather", [f"w{i}", "x"], [f"row{i}"]) for i in range(layers)]
    sums = [node("Add", [f"row{i}", f"y{i - 1}" if i else "row0"], [f"y{i}"]) for i in range(layers)]
    with open(path, "wb") as file:
        file.write(model(*tables, *lookups, *sums, value(11, "x", ["N"], 7), value(12, f"y{layers - 1}", ["N", width])))


def write_array(path, kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def peak(*command):
    """Of the command and its children, in bytes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command}: status {status}")
    return usage.ru_maxrss * 1024


OPEN = """
import ctypes, sys
runtime, session = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
runtime.dist_session_open.restype = ctypes.c_void_p
sys.exit(1 if runtime.dist_session_open(sys.argv[2].encode(), None, ctypes.byref(session)) else 0)
"""


def measure_package(path, width, layers):
    """What uses a package takes, once it is there."""
    subprocess.run([sys.executable, __file__, "write", path, "tables", str(width), str(layers)], check=True)
    subprocess.run(["dist-opt", path, "--batch-size", str(ROWS), "--emit=package", "-o", path + ".package"], check=True)
    write_array(path + ".x.npy", "<i8", (ROWS,), bytes(8 * ROWS))
    runtime = os.path.join(os.path.dirname(shutil.which("dist-run")), "../lib/libdist_runtime.so")
    return {"predict": peak("dist-run", "predict", path + ".package", "--input", f"x={path}.x.npy"),
            "embedded": peak(sys.executable, "-c", OPEN, runtime, path + ".package")}


def measure(path, form, width, layers):
    x, y = path + ".x.npy", path + ".y.npy"
    subprocess.run([sys.executable, __file__, "write", path, form, str(width), str(layers)], check=True)
    size = os.path.getsize(path) + os.path.getsize(path + ".data")
    write_array(x, "<f4", (ROWS, width), bytes(4 * ROWS * width))
    write_array(y, "<i8", (ROWS,), bytes(8 * ROWS))
    training = ["--batch-size", str(ROWS), "--loss", "sparse-categorical-crossentropy", "--optimizer", "sgd"]
    fit = ["dist-run", "fit", path, "--data", f"x={x},y={y}", *training, "--no-compile-cache"]
    peaks = {"package": peak("dist-opt", path, "--batch-size", str(ROWS), "--emit=package", "-o", path + ".package"),
             "training": peak("dist-opt", path, *training, "--emit=package", "-o", path + ".training"),
             "info": peak("dist-run", "info", path, "--no-compile-cache"),
             "output": peak(*fit, "--output", path + ".trained.onnx") - peak(*fit)}
    return size, peaks


if sys.argv[1] == "write":
    path, form, width, layers = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    if form == "tables":
        write_tables(path, width, layers)
    else:
        write_model(path, form, width, layers)
    sys.exit()
folder, form, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
_, small = measure(os.path.join(folder, "small.onnx"), form, 16, 1)
size, large = measure(os.path.join(folder, "large.onnx"), form, 2048, layers)
if form == "raw":
    small.update(measure_package(os.path.join(folder, "few.onnx"), 16, 1))
    large.update(measure_package(os.path.join(folder, "many.onnx"), 2048, layers))
for name, peaked in large.items():
    print(f"{name} {(peaked - small[name]) / size:.2f}")
