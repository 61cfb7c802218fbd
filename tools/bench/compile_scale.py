#!/usr/bin/env python3
"""How compile time and memory grow with the model, and that they do not with the mesh.

    tools/bench/compile_scale.py [--build BUILD] [--layers 12,24,48,96] [--strategy LIST --mesh AXIS=N,...]

Partitions causal transformers of ever more layers to the program of one rank of
a mesh (default 8x8x8: data, model, stage), and prints processor seconds and peak memory,
in all and a layer. Ends with 1 when the largest takes over a minute or 4 GiB.
Needs the Python packages numpy and onnx.
"""
import argparse
import os
import subprocess
import sys

from programs import TOP

sys.path.insert(0, os.path.join(TOP, "examples", "models"))
from make_models import transformer  # noqa: E402


def run(command):
    """A child's seconds of processor time, which other work does not change, and its peak GiB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"compile_scale.py: error: {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--layers", default="12,24,48,96")
    parser.add_argument("--strategy", default="mirrored,tensor-split,pipeline:microbatches=8")
    parser.add_argument("--mesh", default="data=8,model=8,stage=8")
    args = parser.parse_args()
    folder = os.path.join(args.build, "bench-models")
    os.makedirs(folder, exist_ok=True)
    devices = 1
    for axis in args.mesh.split(","):
        devices *= int(axis.split("=")[1])
    print("layers  seconds  GiB   ms a layer")
    for layers in map(int, args.layers.split(",")):
        model = f"{folder}/transformer-{layers}.onnx"
        if not os.path.exists(model):
            with open(os.devnull, "w") as quiet:
                sys.stdout, stdout = quiet, sys.stdout
                transformer(model, layers, dim=128, heads=8, length=32, vocabulary=256)
                sys.stdout = stdout
        seconds, memory = run([f"{args.build}/bin/dist-opt", model, "--loss", "sparse-categorical-crossentropy", "--from-logits",
                               "true", "--optimizer", "adamw", "--batch-size", "64", "--strategy", args.strategy, "--devices",
                               f"cpu:{devices}", "--mesh", args.mesh, "--emit=partitioned", "-o", f"{folder}/scale.mlirbc"])
        print(f"{layers:6} {seconds:8.1f} {memory:5.2f} {1e3 * seconds / layers:9.0f}", flush=True)
    return 1 if seconds > 60 or memory > 4 else 0


if __name__ == "__main__":
    sys.exit(main())
