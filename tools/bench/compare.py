#!/usr/bin/env python3
"""Times dist-run beside its peers, interleaved in one run, and prints ratios.

    tools/bench/compare.py                 # small models, all modes
    tools/bench/compare.py --suite large   # ResNet-18 and a transformer, one device and two
    tools/bench/compare.py --suite workers # two workers, each a process with one thread
    tools/bench/compare.py --suite plans   # what --strategy auto predicts (compare_plans.py), on all workloads
    tools/bench/compare.py 'mnist-cnn 32 f32 tf graph' 'mnist-mlp 128 f32 jax jit || 0.9' \\
        'mnist-cnn 32 f32 tf mirrored2 | --strategy mirrored --devices cpu:2 | 0.7'

Each argument is `WORKLOAD BATCH DTYPE PEER MODE [| our flags [| limit]]`.
PEER: tf, jax, torch, ort (from virtual environments under $DIST_PEERS, default
~/.cache/dist-peers, made on first use from the Python registry); `self`, our
own one-device step; `mirrored`, our own mirrored step; `floor`, oneDNN's time for the contractions alone; `-`,
nothing: the figure itself is held to the limit.
MODE, besides the peers' training steps (graph, jit, mirrored2, ...; PyTorch's with +cl: channels last):
  infer      predict            start     load (import) to the end of the first step
  epoch      a whole epoch of fit, its data included, per step
  fit        a step of fit by its history, its data included; so is ours wherever our flags have --workers
  compile_s  rss_mb             of ours, from a model file and from a package

Every round times each pair once, ours and theirs one after the other. A ratio
is ours / theirs, each the smallest of its rounds' medians; `paired` is the
median of the rounds' own ratios, which a machine with other work upsets less.
Ends with 1 when a ratio is over its limit.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import compare_plans
from programs import OPTIMIZERS, TOP, last_json, run

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.environ.get("DIST_PEERS", os.path.expanduser("~/.cache/dist-peers"))
PACKAGES = {"tf": ["tensorflow-cpu", "onnx", "onnxruntime"], "jt": ["jax[cpu]", "optax", "flax", "torch==2.13.0"]}
SHAPES = {"mnist-cnn": [1, 28, 28], "mnist-mlp": [784], "resnet18-cifar": [3, 32, 32], "gpt-6x384": [128]}  # of fit's examples
TOKENS = {"gpt-6x384": 8192}  # whose examples are numbers below this, and labels alike
EPOCH_STEPS = 100

MIRRORED = "--strategy mirrored --devices cpu:2"
CENTRAL = "--strategy central-storage --devices cpu:2"
SMALL = ["mnist-cnn 32 f32 tf graph || 0.8",
         "mnist-cnn 128 f32 tf graph || 0.8",
         "mnist-mlp 128 f32 jax jit || 0.9",
         f"mnist-cnn 32 f32 tf mirrored2 | {MIRRORED} | 0.7",
         f"mnist-cnn 128 f32 tf mirrored2 | {MIRRORED} | 0.7",
         f"mnist-mlp 128 f32 tf mirrored2 | {MIRRORED} | 0.7",
         f"mnist-cnn 128 f32 tf central2 | {CENTRAL} | 0.7",
         f"mnist-mlp 128 f32 tf central2 | {CENTRAL} | 0.7",
         f"mnist-cnn 128 f32 self train | {MIRRORED} | 1.1",
         f"mnist-mlp 128 f32 self train | {MIRRORED} | 1.3",
         f"mnist-mlp 128 f32 mirrored train | {MIRRORED} --compress topk:ratio=0.01 | 1.1",
         "mnist-cnn 1 f32 ort infer || 0.8",
         "mnist-cnn 32 f32 ort infer || 0.8",
         "mnist-mlp 128 f32 ort infer || 1.1",
         "mnist-cnn 32 f32 tf epoch || 0.8",
         "mnist-cnn 32 f32 tf start || 0.1",
         "mnist-cnn 32 f32 floor train",
         "mnist-cnn 128 f32 floor train",
         "mnist-cnn 32 f32 - compile_s || 3",
         "mnist-cnn 32 f32 - rss_mb || 150"]
RESNET, GPT = "resnet18-cifar 64", "gpt-6x384 8"
TENSOR = "--strategy tensor-split --devices cpu:2"


def zero(stage):
    return f"--strategy zero:stage={stage} --devices cpu:2"


# The fastest peer of each mode; PyTorch's compiler where it has one, channels last where it can.
LARGE = [spec for dtype in ("f32", "bf16") for spec in (
    f"{RESNET} {dtype} torch compile || 0.9",
    f"{RESNET} {dtype} torch compile+cl || 0.9",
    f"{GPT} {dtype} torch compile || 0.9",
    f"{RESNET} {dtype} torch ddp2+cl | {MIRRORED} | 0.9",
    f"{GPT} {dtype} torch ddp2 | {MIRRORED} | 0.9",
    f"{RESNET} {dtype} jax model2 | {TENSOR} | 0.9",
    f"{GPT} {dtype} jax model2 | {TENSOR} | 0.9",
    f"{RESNET} {dtype} torch fsdp2 | {zero(3)} | 0.9",
    f"{GPT} {dtype} torch fsdp2 | {zero(3)} | 0.9",
    f"{GPT} {dtype} mirrored train | {zero(1)} | 1")]
LARGE += [f"{workload} {batch} f32 ort infer || 0.8" for workload in ("resnet18-cifar", "gpt-6x384") for batch in (1, 32)]
LARGE += [f"{RESNET} f32 self train | {MIRRORED} | 1.05", f"{GPT} f32 self train | {MIRRORED} | 1.18"]
WORKERS = "--strategy multi-worker-mirrored --workers 2 --threads 1"
WORKER_PAIRS = [f"{workload} f32 {peer} | {WORKERS} | {limit}" for workload in ("mnist-cnn 128", GPT) for peer, limit in
                (("torch ddp2", 0.7), ("tf workers2", 0.7), ("mirrored fit", 1.05))]
SUITES = {"small": SMALL, "large": LARGE, "workers": WORKER_PAIRS}


PLANS = ["mnist-mlp 128", "mnist-cnn 128", RESNET, GPT]


def make_models(folder):
    subprocess.run([python_of("tf"), f"{TOP}/examples/models/make_models.py", folder, "workloads"], check=True, stdout=subprocess.DEVNULL)


def python_of(peer):
    name = "tf" if peer in ("tf", "ort") else "jt"
    python = f"{PEERS}/{name}/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", f"{PEERS}/{name}"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], check=True)
    return python


class Spec:
    def __init__(self, text, args, scratch):
        words, _, rest = text.partition("|")
        flags, _, limit = rest.partition("|")
        self.workload, self.batch, self.dtype, self.peer, self.mode = words.split()
        self.flags = flags.split()
        self.limit = float(limit) if limit.strip() else None
        self.args, self.scratch = args, scratch
        self.mine, self.theirs, self.where = [], [], None
        self.model = f"{args.models}/{self.workload}.onnx"
        self.packages = {}
        self.steps = {}

    def training(self):
        return ["--batch-size", self.batch, "--precision", self.dtype, "--loss", "sparse-categorical-crossentropy",
                "--from-logits", "true", "--optimizer", OPTIMIZERS[self.workload]]

    def bench(self, flags, *more, seconds=None):
        key = tuple(flags)
        if key not in self.packages:
            package = f"{self.scratch}/{len(os.listdir(self.scratch))}"
            options = [] if self.mode == "infer" else self.training()[4:]
            run([f"{self.args.build}/bin/dist-opt", self.model, *self.training()[:4], *options, *flags, "--emit=package", "-o", package])
            self.packages[key] = package
        seconds = self.args.seconds if seconds is None else seconds
        return last_json([f"{self.args.build}/bin/dist-run", "bench", self.packages[key], "--seconds", str(seconds), "--data", "random",
                          "--json", "--mode", "predict" if self.mode == "infer" else "train", *more])

    def data(self):
        """Random examples of one epoch as .npy, written once."""
        x, y = f"{self.scratch}/{self.workload}-{self.batch}-x.npy", f"{self.scratch}/{self.workload}-{self.batch}-y.npy"
        if not os.path.exists(y):
            code = ("import numpy as np, sys; n, tokens = map(int, sys.argv[1:3]); shape = [n, *map(int, sys.argv[5:])]; r = np.random.default_rng(0); "
                    "np.save(sys.argv[3], r.integers(0, tokens, shape) if tokens else r.random(shape, 'float32')); "
                    "np.save(sys.argv[4], r.integers(0, tokens or 10, shape if tokens else n))")
            run([python_of("tf"), "-c", code, str(EPOCH_STEPS * int(self.batch)), str(TOKENS.get(self.workload, 0)), x, y,
                 *map(str, SHAPES[self.workload])])
        return f"x={x},y={y}"

    def fit(self, flags):
        """Milliseconds of a step of fit, as its history tells; the first are not counted."""
        history = f"{self.scratch}/history.jsonl"
        warm, known = 5, self.steps.get(tuple(flags))
        steps = warm + (max(10, int(self.args.seconds * 1e3 / known)) if known else 10)
        run([f"{self.args.build}/bin/dist-run", "fit", self.model, "--data", self.data(), "--steps", str(steps), "--history", history,
             *self.training(), *flags])
        rows = [json.loads(line) for line in open(history)]
        took = statistics.median([r["seconds"] for r in rows if r["kind"] == "step"][warm:]) * 1e3
        self.steps[tuple(flags)] = took
        return took if known else self.fit(flags)

    def epoch(self):
        history = f"{self.scratch}/history.jsonl"
        run([f"{self.args.build}/bin/dist-run", "fit", self.model, "--data", self.data(), "--epochs", "5", "--history", history,
             *self.training(), *self.flags])
        rows = [json.loads(line) for line in open(history)]
        return statistics.median(r["seconds"] for r in rows[1:] if r["kind"] == "epoch" and r["epoch"] > 1) / EPOCH_STEPS * 1e3

    def time_ours(self):
        if self.mode == "compile_s":
            begin = time.perf_counter()
            run([f"{self.args.build}/bin/dist-opt", self.model, *self.training(), *self.flags, "--emit=package", "-o", f"{self.scratch}/compiled"])
            return time.perf_counter() - begin
        if self.mode == "epoch":
            return self.epoch()
        if self.mode == "fit" or "--workers" in self.flags:
            return self.fit(self.flags)
        if self.mode == "start":
            result = self.bench(self.flags, seconds=0.001)
            return (result["load_s"] + result["first_s"]) * 1e3
        result = self.bench(self.flags)
        return result["rss_mb" if self.mode == "rss_mb" else "step_ms"]

    def time_theirs(self):
        if self.peer == "-":
            return 1
        if self.peer in ("self", "mirrored"):
            flags = MIRRORED.split() if self.peer == "mirrored" else []
            return self.fit(flags) if self.mode == "fit" else self.bench(flags)["step_ms"]
        if self.peer == "floor":
            return float(run([floor_program(self.args.build), self.workload, self.dtype, self.batch]).split("floor ")[-1].split()[0])
        mode, seconds = ("graph", 0) if self.mode == "start" else (self.mode, self.args.seconds)
        mode, _, last = mode.partition("+")
        more = (["--models", self.args.models] if self.peer == "ort" else []) + (["--channels-last"] if last == "cl" else [])
        result = last_json([python_of(self.peer), f"{HERE}/peer_{self.peer}.py", self.workload, "--batch", self.batch, "--dtype", self.dtype,
                            "--mode", mode, "--seconds", str(seconds), *more])
        return (result["import_s"] + result["first_s"]) * 1e3 if self.mode == "start" else result["step_ms"]

    def round(self):
        self.mine.append(self.time_ours())
        self.theirs.append(self.time_theirs())

    def trace(self):
        """Milliseconds of a step by what they are spent on, on the first device."""
        path = f"{self.scratch}/trace.json"
        steps = self.bench(self.flags, "--trace", path)
        events = json.load(open(path))
        events = [e for e in (events["traceEvents"] if isinstance(events, dict) else events) if e.get("ph") == "X" and e.get("cat") != "step"]
        events = sorted((e for e in events if e["tid"] == events[0]["tid"]), key=lambda e: e["ts"])
        counts = {}
        for event in events:
            counts[event["name"]] = counts.get(event["name"], 0) + 1
        # Steps are alike: a name's count is a multiple of theirs.
        number = min(counts.values())
        per_step = len(events) // number
        total = {}
        for place in range(per_step):
            times = [events[step * per_step + place]["dur"] for step in range(number)]
            kind = events[place]["cat"] + " " + events[place]["name"]
            total[kind] = total.get(kind, 0) + statistics.median(times) / 1e3
        total["between kernels"] = max(0, steps["step_ms"] - sum(total.values()))
        self.where = {k: round(v, 4) for k, v in sorted(total.items(), key=lambda item: -item[1])}

    def row(self):
        mine, theirs = min(self.mine), min(self.theirs)
        return {"workload": self.workload, "batch": int(self.batch), "dtype": self.dtype, "peer": self.peer, "mode": self.mode,
                "flags": " ".join(self.flags), "ours": mine, "theirs": None if self.peer == "-" else theirs, "ratio": mine / theirs,
                "paired": statistics.median(a / b for a, b in zip(self.mine, self.theirs)), "limit": self.limit,
                "holds": self.limit is None or mine / theirs <= self.limit, "rounds": len(self.mine),
                **({"where_ms": self.where} if self.where else {})}


def floor_program(build):
    program, source = f"{build}/floor_onednn", f"{HERE}/floor_onednn.cpp"
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        # The one that the build found: PREFIX/lib/cmake/dnnl.
        found = re.search(r"^dnnl_DIR:PATH=(.*)/lib/cmake/dnnl$", open(f"{build}/CMakeCache.txt").read(), re.M)
        library = found[1] if found else ""
        paths = [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib"] if os.path.exists(library) else []
        run([os.environ.get("CXX", "clang++-22"), "-O2", source, "-o", program, *paths, "-ldnnl", "-lgomp"])
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", help="default: those of --suite")
    parser.add_argument("--suite", choices=[*SUITES, "plans"], default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="each timing's length")
    parser.add_argument("--build", default=os.path.join(TOP, "build"), help="where the tools were built")
    parser.add_argument("--models", help="folder of the workloads; made there when missing (default BUILD/bench-models)")
    parser.add_argument("--trace", action="store_true", help="say where our time goes beside each floor")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON")
    args = parser.parse_args()
    args.models = args.models or f"{args.build}/bench-models"
    os.environ.setdefault("OMP_NUM_THREADS", "2")  # the floor's and ONNX Runtime's; ours and the others are told
    if args.suite == "plans":
        if not os.path.isdir(args.models):
            make_models(args.models)
        sys.exit(compare_plans.main([*sum((workload.split() for workload in PLANS), []), "--rounds", str(args.rounds), "--seconds",
                                     str(args.seconds), "--build", args.build, "--models", args.models]))
    with tempfile.TemporaryDirectory() as scratch:
        specs = [Spec(text, args, scratch) for text in args.specs or SUITES[args.suite]]
        if not all(os.path.exists(spec.model) for spec in specs):
            make_models(args.models)
        load = os.getloadavg()[0]
        for number in range(args.rounds):
            for spec in specs:
                spec.round()
            load = max(load, os.getloadavg()[0])
            print(f"round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
        if args.trace:
            for spec in specs:
                if spec.peer == "floor":
                    spec.trace()
        rows = [spec.row() for spec in specs]
    print(f"{'workload':<16}{'batch':>6} {'type':<5}{'against':<16} {'ours':>9} {'theirs':>8} {'ratio':>6} {'paired':>7} {'limit':>6}")
    for r in rows:
        against = (r["peer"] + " " + r["mode"]) if r["peer"] != "-" else r["mode"]
        theirs = "" if r["theirs"] is None else f"{r['theirs']:.2f}"
        limit = "" if r["limit"] is None else f"{r['limit']:g}"
        print(f"{r['workload']:<16}{r['batch']:>6} {r['dtype']:<5}{against:<16} {r['ours']:>9.2f} {theirs:>8} {r['ratio']:>6.2f} "
              f"{r['paired']:>7.2f} {limit:>6}{'' if r['holds'] else '  over'}{'  ' + r['flags'] if r['flags'] else ''}")
        for kind, ms in list(r.get("where_ms", {}).items())[:12]:
            print(f"{'':<28}{kind[:60]:<62}{ms:>8.3f} ms {ms / r['ours']:>5.0%}")
    # What is timed loads every CPU once.
    cpus = len(os.sched_getaffinity(0))
    busy = load > 2 * cpus
    if busy:
        print(f"note: other work ran beside this (load {load:.0f} on {cpus} CPUs): the ratios prove nothing, whichever way they lie")
    if args.json:
        with open(args.json, "w") as file:
            json.dump([{**r, "load": load, "busy": busy} for r in rows], file, indent=1)
    sys.exit(not all(r["holds"] for r in rows))


if __name__ == "__main__":
    main()
