#!/usr/bin/env python3
"""How compile time and memory grow with the model, and that they do not with the mesh.

    tools/bench/compile_scale.py [--build BUILD] [--layers 12,24,48,96] [--strategy LIST --mesh AXIS=N,...] [--judge]
    tools/bench/compile_scale.py [--build BUILD] --microbatches 8,16,64 [--layers 96 | --model FILE] [--emit package|explain] [--judge]
    tools/bench/compile_scale.py [--build BUILD] --ops 25000,50000,100000,200000 [--judge]

Partitions causal transformers of ever more layers to the program of one rank of
a mesh (default 8x8x8: data, model, stage), and prints processor seconds and peak memory,
in all and a layer. Bounds: the largest takes at most a minute, and 4 GiB.
Needs the Python packages numpy and onnx.

With --microbatches, partitions one such transformer, or --model FILE, for ever
more microbatches of one global batch instead: one op stands for all of them,
and the most may take 1.5 times as long as the fewest. Measured from 8 to 64 with
96 layers: 1.0 (3.2 where the partitioned program had a copy of each op for each).
With --emit package makes the package for a pipeline of two devices, where a
further microbatch may take a fifth of what those of the fewest did each, all in
all: kernels are made for few microbatches, the program is as long as it is.
Measured from 8 to 64 with 4 layers: 0.12 (0.4 where kernels were formed anew for
each, 1.0 where each had kernels and code of its own). With --emit explain tells of
that package: at most a half. Measured: 0.4 (0.9 where kernels were formed
anew).

With --ops, plans the memory of steps of so many kernels instead, whose backward
pass reads each value of the forward pass. Bound: an op of the largest takes at
most 3 times as long as one of the smallest.

With --judge each figure is held to its bound, and it ends with 1 when one is over. The
bounds are for the spans above: of small programs, or of a machine with other work, the
ratios say nothing.
"""
import argparse
import contextlib
import math
import os
import subprocess
import sys

from programs import TOP

sys.path.insert(0, os.path.join(TOP, "examples", "models"))


def run(command):
    """A child's seconds of processor time, which other work does not change, and its peak GiB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"compile_scale.py: error: {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def bounds_of_layers(seconds, memory):
    """Of the largest model, in seconds and GiB: what each figure is, the figure, and the most that it may be."""
    return [("seconds of the largest", seconds, 60), ("GiB of the largest", memory, 4)]


def bounds_of_microbatches(emit, share, ratio):
    """`share`: a further one's time by that of each of the fewest; `ratio`: the time of the most by that of the fewest."""
    bounds = [("share of a further one", share, 0.2 if emit == "package" else 0.5)]
    return bounds + [("ratio of the most to the fewest", ratio, 1.5)] if emit == "partitioned" else bounds


def bounds_of_ops(smallest, largest):
    """Of the time that an op takes, in any unit."""
    return [("ratio of an op of the largest to one of the smallest", largest / smallest, 3)]


def judge(bounds):
    """Says of each figure whether it is within its bound, and returns the exit code: 1 when one is over."""
    for what, figure, most in bounds:
        print(f"{'ok  ' if figure <= most else 'OVER'} {what}: {figure:.2f}, at most {most}")
    return int(any(figure > most for _, figure, most in bounds))


def write_step(path, ops):
    """A chain of kernels forward, and one back that reads what each of them made."""
    kind = "tensor<16xf32>"
    with open(path, "w") as f:
        for name, arguments, body in (("one", f"%a: {kind}", "relu %a"), ("two", f"%a: {kind}, %b: {kind}", "add %a, %b")):
            f.write(f"rt.kernel @{name} domain [16] row_dims 0 chunks 1 -> [{kind}] {{\n^bb0({arguments}):\n"
                    f"  %y = graph.{body} : {kind}\n  rt.yield %y : {kind}\n}}\n")
        f.write(f"func.func @step(%x: {kind}) -> {kind} {{\n")
        last = "%x"
        for i in range(ops // 2):
            f.write(f"  %f{i} = rt.call @one({last}) : ({kind}) -> {kind}\n")
            last = f"%f{i}"
        for i in reversed(range(ops // 2)):
            f.write(f"  %b{i} = rt.call @two({last}, %f{i}) : ({kind}, {kind}) -> {kind}\n")
            last = f"%b{i}"
        f.write(f"  return {last} : {kind}\n}}\n")


def plan_steps(build, folder, counts):
    """Prints a row for each number of ops; returns the figures and their bounds, as the other two do."""
    print("ops      seconds  GiB   us an op")
    each = []
    for ops in counts:
        path = f"{folder}/step-{ops}.mlir"
        write_step(path, ops)
        seconds, memory = run([f"{build}/bin/dist-opt", path, "--rt-plan-memory", "-o", f"{folder}/step.mlirbc"])
        os.remove(path)
        each.append(1e6 * seconds / ops)
        print(f"{ops:8} {seconds:7.2f} {memory:5.2f} {each[-1]:8.1f}", flush=True)
    return bounds_of_ops(each[0], each[-1])


def get_transformer(folder, layers):
    model = f"{folder}/transformer-{layers}.onnx"
    if not os.path.exists(model):
        from make_models import transformer

        with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
            transformer(model, layers, dim=128, heads=8, length=32, vocabulary=256)
    return model


def compile_step(build, model, strategy, devices, batch, more):
    """Seconds and GiB of compiling the training step."""
    return run([f"{build}/bin/dist-opt", model, "--loss", "sparse-categorical-crossentropy", "--from-logits", "true",
                "--optimizer", "adamw", "--batch-size", str(batch), "--strategy", strategy, "--devices", f"cpu:{devices}",
                *more])


def partition(build, folder, model, strategy, mesh, batch):
    """Seconds and GiB of making the program of one rank."""
    devices = math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))
    return compile_step(build, model, strategy, devices, batch,
                        ["--mesh", mesh, "--emit=partitioned", "-o", f"{folder}/scale.mlirbc"])


def scale_microbatches(args, folder, model, counts):
    print("microbatches  seconds  GiB   ms one more")
    rows = []
    for count in counts:
        # One for each rank of whatever axis the batch is on.
        batch = max(counts) * max(int(axis.split("=")[1]) for axis in args.mesh.split(","))
        strategy = f"pipeline:microbatches={count}"
        if args.emit != "partitioned":
            seconds, memory = compile_step(args.build, model, strategy, 2, max(counts),
                                           [f"--emit={args.emit}", "-o", f"{folder}/scale.{args.emit}"])
        else:
            seconds, memory = partition(args.build, folder, model, "mirrored,tensor-split," + strategy, args.mesh, batch)
        rows.append((count, seconds))
        more = "" if len(rows) < 2 else f"{1e3 * (seconds - rows[-2][1]) / (count - rows[-2][0]):9.0f}"
        print(f"{count:12} {seconds:8.1f} {memory:5.2f} {more}", flush=True)
    if len(rows) < 2:
        return []
    (fewest, first), (most, last) = rows[0], rows[-1]
    share = (last - first) / (most - fewest) / (first / fewest)
    print(f"a further one takes {share:.2f} of what each of {fewest} takes")
    return bounds_of_microbatches(args.emit, share, last / first)


def measure(args):
    folder = os.path.join(args.build, "bench-models")
    os.makedirs(folder, exist_ok=True)
    if args.ops:
        return plan_steps(args.build, folder, list(map(int, args.ops.split(","))))
    layers = list(map(int, args.layers.split(",")))
    if args.microbatches:
        model = args.model or get_transformer(folder, layers[-1])
        return scale_microbatches(args, folder, model, list(map(int, args.microbatches.split(","))))
    print("layers  seconds  GiB   ms a layer")
    for count in layers:
        seconds, memory = partition(args.build, folder, get_transformer(folder, count), args.strategy, args.mesh, 64)
        print(f"{count:6} {seconds:8.1f} {memory:5.2f} {1e3 * seconds / count:9.0f}", flush=True)
    return bounds_of_layers(seconds, memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--layers", default="12,24,48,96")
    parser.add_argument("--strategy", default="mirrored,tensor-split,pipeline:microbatches=8")
    parser.add_argument("--mesh", default="data=8,model=8,stage=8")
    parser.add_argument("--microbatches")
    parser.add_argument("--model")
    parser.add_argument("--emit", choices=["partitioned", "package", "explain"], default="partitioned")
    parser.add_argument("--ops")
    parser.add_argument("--judge", action="store_true", help="hold the figures to their bounds, and end with 1 when one is over")
    args = parser.parse_args()
    bounds = measure(args)
    return judge(bounds) if args.judge else 0


if __name__ == "__main__":
    sys.exit(main())
