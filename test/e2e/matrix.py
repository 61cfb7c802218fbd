#!/usr/bin/env python3
"""Every strategy and composition on every workload, against one device.

    test/e2e/matrix.py [--build BUILD] [--models REGEX] [--devices 2,4,8] [--steps 20] [--only REGEX] [--output TABLE.md]

Prints one row a case (strategy_parity's figures) as a Markdown table, and ends
with 1 when a case differs. Needs the Python packages numpy and onnx, and real
data: MNIST and CIFAR-10 under $DIST_TEST_DATA (default ../shared/data). Batches
are such that some devices get fewer examples than others.
"""
import argparse
import gzip
import os
import re
import subprocess
import sys

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("DIST_TEST_DATA", os.path.join(TOP, "..", "shared", "data"))


def read(name):
    with gzip.open(os.path.join(DATA, name)) as f:
        return f.read()


def mnist():
    images = np.frombuffer(read("mnist/train-images-idx3-ubyte.gz"), np.uint8, offset=16).reshape(-1, 28, 28)
    return images, np.frombuffer(read("mnist/train-labels-idx1-ubyte.gz"), np.uint8, offset=8).astype(np.int32)


def cifar():
    rows = np.frombuffer(read("cifar10/data_batch_1.first4000.bin.gz"), np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255, rows[:, 0].astype(np.int32)


def images(shape):
    x, y = mnist()
    return x.reshape(-1, *shape).astype(np.float32) / 255, y


def tokens(length, vocabulary):
    """Pairs of pixels as tokens, 64 x 128 gray levels; the next pair is to be told."""
    x, _ = mnist()
    pairs = x.reshape(len(x), -1, 2).astype(np.int64)
    words = (pairs[:, :, 0] // 4 * 128 + pairs[:, :, 1] // 2)[:, 100:101 + length]
    assert words.max() < vocabulary
    return words[:, :-1], words[:, 1:].astype(np.int32)


class Workload:
    """A model with its data, batch and optimizer; `norm`: it has batch norm, `kinks`: so many ReLUs that some are at
    zero in every step, `layers`: enough to cut into 4 stages, `orders`: of the examples, that drifts are the quartile of.
    """

    def __init__(self, model, data, batch, optimizer, norm=False, kinks=False, layers=True, orders=15):
        self.model, self.data, self.batch, self.optimizer = model, data, batch, optimizer
        self.norm, self.kinks, self.layers, self.orders = norm, kinks, layers, orders


WORKLOADS = [
    Workload("mnist-mlp", lambda: images([784]), 50, "adam:lr=1e-3", layers=False),
    Workload("mnist-cnn", lambda: images([1, 28, 28]), 50, "adam:lr=1e-3"),
    Workload("cifar-cnn", cifar, 50, "momentum:lr=1e-2"),
    Workload("resnet18-cifar", cifar, 11, "momentum:lr=1e-2", norm=True, kinks=True, orders=3),
    # The same without kinks, so that only what splits it can move its gradients.
    Workload("resnet18-smooth", cifar, 11, "momentum:lr=1e-2", norm=True, orders=3),
    Workload("gpt-6x384", lambda: tokens(128, 8192), 5, "adamw:lr=1e-3", orders=3),
]


def cases(workload, devices):
    """(flags, oracle) for every strategy and composition that applies."""
    plain = [("mirrored", ""), ("zero:stage=1", ""), ("zero:stage=2", ""), ("zero:stage=3", ""), ("tensor-split", ""),
             ("central-storage", "")]
    stages = min(devices, 4 if workload.layers else 2)
    if stages == devices:
        plain += [(f"pipeline:microbatches={stages},schedule=gpipe", ""), (f"pipeline:microbatches={2 * stages}", "")]
    if devices >= 4:
        data = devices // 2
        plain += [("mirrored,tensor-split", f"data={data},model=2"), ("tensor-split,zero:stage=1", f"data={data},model=2"),
                  ("tensor-split,zero:stage=3", f"data={data},model=2"),
                  ("mirrored,pipeline:microbatches=4", f"data={data},stage=2"),
                  ("zero:stage=2,pipeline:microbatches=4", f"data={data},stage=2")]
    if devices >= 8:
        plain += [("mirrored,tensor-split", "data=2,model=4"),
                  ("mirrored,tensor-split,pipeline:microbatches=2", "data=2,model=2,stage=2")]
    for strategy, mesh in plain:
        flags = f"--strategy {strategy} --devices cpu:{devices}" + (f" --mesh {mesh}" if mesh else "")
        splits_batch = strategy != "tensor-split"
        if workload.norm and splits_batch:
            yield flags + " --sync-batch-norm", "one-device"
            yield flags, "unsplit"
        else:
            yield flags, "one-device"


def compare(args, workload, model, oracle, together):
    """Yields a row a case, and whether it agrees; the oracle runs once for all."""
    process = subprocess.Popen(
        [f"{args.build}/bin/strategy_parity", f"{model}.onnx", "--data", f"x={model}-x.npy,y={model}-y.npy", "--steps",
         str(args.steps), "--free-running", str(args.steps), "--orders", str(args.orders or workload.orders), "--optimizer", workload.optimizer, "--against", oracle,
         *(["--kinks"] if workload.kinks else []), *(word for flags in together for word in ("--case", flags)), "--",
         "--loss", "sparse-categorical-crossentropy", "--from-logits", "true", "--batch-size", str(workload.batch),
         # Shards of other shapes would choose other kernels, which round differently.
         "--convolution", "direct"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    waiting, said = list(together), ""
    for line in process.stdout:
        flags = waiting[0] if waiting else None
        if not flags or f" {flags} " not in line.rstrip() + " ":
            said = line.strip() or said
            continue
        figures = re.match(r"(\S+) +(\S+(?: +\(\S+ *\))?) +(\S+) +\d+ +\d+ +(\S+ +\(\S+ *\)) ", line)
        row = [workload.model, str(workload.batch), oracle, f"`{waiting.pop(0)}`",
               *(figures.groups() if figures else ["–"] * 4)]
        why = line.split(f" {flags}")[-1].strip()
        if why or not figures:
            row[3] += f" **{why or said}**"
        yield row, bool(figures) and not why
    process.wait()
    for flags in waiting:
        yield [workload.model, str(workload.batch), oracle, f"`{flags}` **{said}**", *["–"] * 4], False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--models", default=".", help="regular expression")
    parser.add_argument("--only", default=".", help="regular expression of the cases' flags")
    parser.add_argument("--devices", default="2,4,8")
    parser.add_argument("--steps", default=20, type=int)
    parser.add_argument("--orders", type=int, help="of the examples, instead of the workload's own number")
    parser.add_argument("--output", help="the table as a file, too")
    args = parser.parse_args()
    if not os.path.isdir(DATA):
        sys.exit(f"matrix.py: error: no data ({DATA}): set DIST_TEST_DATA")
    folder = os.path.join(args.build, "matrix")
    rows, failed = [], 0
    head = ["model", "batch", "oracle", "flags", "loss", "gradient (allowed, if not 5e-5)", "state", "drift (allowed)"]
    for workload in WORKLOADS:
        if not re.search(args.models, workload.model):
            continue
        model = f"{folder}/{workload.model}.onnx"
        if not os.path.exists(model):
            subprocess.run([sys.executable, f"{TOP}/examples/models/make_models.py", folder, workload.model], check=True,
                           stdout=subprocess.DEVNULL)
        x, y = workload.data()
        for name, array in (("x", x), ("y", y)):
            np.save(f"{folder}/{workload.model}-{name}.npy", array[:workload.batch * args.steps])
        for devices in map(int, args.devices.split(",")):
            chosen = {}
            for flags, oracle in cases(workload, devices):
                if re.search(args.only, flags):
                    chosen.setdefault(oracle, []).append(flags)
            for oracle, together in chosen.items():
                for row, agrees in compare(args, workload, f"{folder}/{workload.model}", oracle, together):
                    failed += not agrees
                    rows.append(row)
                    print("| " + " | ".join(row) + " |", flush=True)
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    if args.output:
        with open(args.output, "w") as f:
            f.write(table + "\n")
    print(f"{len(rows) - failed} of {len(rows)} cases agree")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
