#!/usr/bin/env python3
"""Holds the predicted step of two processes against the measured one.

    tools/bench/predicted_steps.py [MODEL BATCH]... [--workers 2] [--rounds 3] [--machine FILE] [--table FILE] [--models DIR]

The machine and its collectives are measured just before (dist-run bench
--calibrate and --collectives), unless a file is given. A model is one of
examples/models or of DIR (default BUILD/bench-models, made by compare.py). Each
is compiled for the workers, one thread each, and run by process_training, all
models in turn, round by round; the median round counts. Prints what is
predicted, of which transfers, what was measured, and predicted / measured.
"""
import argparse
import json
import os
import re
import statistics
import sys
import tempfile

from programs import OPTIMIZERS, TOP, run

DEFAULT = ["digits-mlp", "32", "digits-cnn", "32", "mnist-cnn", "128", "gpt-6x384", "8"]


def find_model(name, folder):
    for path in (f"{folder}/{name}.onnx", f"{TOP}/examples/models/{name}.onnx"):
        if os.path.exists(path):
            return path
    sys.exit(f"predicted_steps.py: error: no model {name} (--models): neither in {folder} nor in examples/models; compare.py makes the workloads")


class Program:
    """A model compiled for the workers, and what was predicted of it and measured."""

    def __init__(self, name, batch, args, tools, tables, scratch):
        self.name, self.batch, self.measured = name, batch, []
        self.package = f"{scratch}/{name}-{batch}"
        words = [find_model(name, args.models), "--batch-size", batch, "--loss", "sparse-categorical-crossentropy", "--optimizer",
                 OPTIMIZERS.get(name, "adam:lr=1e-3"), "--strategy", "multi-worker-mirrored", "--workers", str(args.workers), "--threads", "1",
                 *tables]
        run([f"{tools}/dist-opt", *words, "--emit=package", "-o", self.package])
        entries = json.loads(run([f"{tools}/dist-opt", *words, "--explain=json"]))["entries"]
        step = next(entry for entry in entries if entry["entry"] == "train_step")
        self.predicted, self.transfers = step["predicted_ms"], step["predicted_exposed_ms"]

    def measure(self, program, steps):
        text = run([program, self.package, "--wire", "shm", "--steps", str(steps)])
        self.measured.append(float(re.search(r"step ([\d.]+) ms", text)[1]))

    def row(self):
        measured = statistics.median(self.measured)
        return (f"{self.name + ' ' + self.batch:16} {self.predicted:9.3f} {self.transfers:9.3f} {measured:9.3f} "
                f"{self.predicted / measured:6.2f}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models_and_batches", nargs="*", default=DEFAULT)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--models")
    parser.add_argument("--machine", help="figures that bench --calibrate wrote")
    parser.add_argument("--table", help="times that bench --collectives wrote")
    args = parser.parse_args(arguments)
    args.models = args.models or f"{args.build}/bench-models"
    tools = f"{args.build}/bin"
    # A job's description is none of this machine's two processes.
    os.environ.pop("TF_CONFIG", None)
    with tempfile.TemporaryDirectory() as scratch:
        machine, table = args.machine or f"{scratch}/machine.json", args.table or f"{scratch}/times.json"
        if not args.machine:
            run([f"{tools}/dist-run", "bench", "--calibrate", "--machine", machine])
        if not args.table:
            run([f"{tools}/dist-run", "bench", "--collectives", "--workers", str(args.workers), "--seconds", str(args.seconds), "--output",
                 table])
        given = args.models_and_batches
        programs = [Program(name, batch, args, tools, ["--machine", machine, "--collectives-table", table], scratch)
                    for name, batch in zip(given[::2], given[1::2])]
        for _ in range(args.rounds):
            for program in programs:
                program.measure(f"{tools}/process_training", args.steps)
        print(f"{'milliseconds':16} predicted transfers  measured  ratio")
        for program in programs:
            print(program.row())
    return 0


if __name__ == "__main__":
    sys.exit(main())
