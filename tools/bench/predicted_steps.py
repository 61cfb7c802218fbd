#!/usr/bin/env python3
"""Holds the predicted step of two processes against the measured one.

    tools/bench/predicted_steps.py [MODEL BATCH]... [--workers 2] [--rounds 3] [--machine FILE] [--table FILE] [--models DIR]

The machine and its collectives are measured just before (dist-run bench
--calibrate and --collectives), unless a file is given. A model is one of
examples/models or of DIR (default BUILD/bench-models, made by compare.py). Each
is compiled for the workers, one thread each, and run by process_training, all
models in turn, round by round; the median round counts. Prints what is
predicted, of which transfers, what was measured, and predicted / measured; and
the same as it is predicted of a cluster that is only described (--link-table),
by links with the rates of this machine: what the table says of 1 MB that goes
one way (broadcast) and both ways (all_gather), and the latency of 8 bytes.
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


def describe_links(table, workers):
    """The level of a link table that all workers' messages pass."""
    with open(table, encoding="utf-8") as file:
        seconds = {(row["collective"], row["bytes"]): row["seconds"] for row in json.load(file)["collectives"] if row["ranks"] == workers}
    much = 1 << 20
    missing = [f"{kind} of {size} bytes" for kind, size in (("all_gather", much), ("broadcast", much), ("broadcast", 8)) if (kind, size) not in seconds]
    if missing:
        sys.exit(f"predicted_steps.py: error: {table} (--table) has no {', '.join(missing)} among {workers} ranks; write it by dist-run bench "
                 f"--collectives --workers {workers}")
    # The root sends to the others in a tree: of two, all of it once.
    both, one = (much * (workers - 1) / seconds["all_gather", much]), (much / seconds["broadcast", much])
    return {"version": 1, "cores": workers,
            "levels": [{"level": "process", "ranks": workers, "bytes_per_second": both, "one_way_bytes_per_second": max(both, one),
                        "latency_seconds": seconds["broadcast", 8], "message_seconds": 0}]}


class Program:
    """A model compiled for the workers, and what was predicted of it and measured."""

    def __init__(self, name, model, batch, args, tools, machine, table, links, scratch):
        self.name, self.batch, self.measured, self.predicted = name, batch, [], []
        self.package = f"{scratch}/{name}-{batch}"
        words = [model, "--batch-size", batch, "--loss", "sparse-categorical-crossentropy", "--optimizer",
                 OPTIMIZERS.get(name, "adam:lr=1e-3"), "--strategy", "multi-worker-mirrored", "--workers", str(args.workers), "--threads", "1",
                 "--machine", machine]
        tables = ["--collectives-table", table], ["--link-table", links]
        run([f"{tools}/dist-opt", *words, *tables[0], "--emit=package", "-o", self.package])
        for given in tables:
            entries = json.loads(run([f"{tools}/dist-opt", *words, *given, "--explain=json"]))["entries"]
            step = next(entry for entry in entries if entry["entry"] == "train_step")
            self.predicted.append((step["predicted_ms"], step["predicted_exposed_ms"]))

    def measure(self, program, steps):
        text = run([program, self.package, "--wire", "shm", "--steps", str(steps)])
        self.measured.append(float(re.search(r"step ([\d.]+) ms", text)[1]))

    def row(self):
        measured = statistics.median(self.measured)
        columns = [f"{step:9.3f} {transfers:9.3f} {step / measured:6.2f}" for step, transfers in self.predicted]
        return f"{self.name + ' ' + self.batch:16} {measured:9.3f} " + " ".join(columns)


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
    given = args.models_and_batches
    models = [find_model(name, args.models) for name in given[::2]]
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
        links = f"{scratch}/links.json"
        with open(links, "w", encoding="utf-8") as file:
            json.dump(describe_links(table, args.workers), file)
        programs = [Program(name, model, batch, args, tools, machine, table, links, scratch)
                    for name, model, batch in zip(given[::2], models, given[1::2])]
        for _ in range(args.rounds):
            for program in programs:
                program.measure(f"{tools}/process_training", args.steps)
        print(f"{'milliseconds':16}  measured predicted transfers  ratio  by links transfers  ratio")
        for program in programs:
            print(program.row())
    return 0


if __name__ == "__main__":
    sys.exit(main())
