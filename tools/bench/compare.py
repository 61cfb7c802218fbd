#!/usr/bin/env python3
"""Times dist-run beside its peers, interleaved in one run, and prints ratios.

    tools/bench/compare.py 'mnist-cnn 32 f32 tf graph' 'mnist-mlp 128 f32 jax jit' \\
        'mnist-cnn 32 f32 tf mirrored | --strategy mirrored --devices cpu:2'

Each argument is `WORKLOAD BATCH DTYPE PEER MODE [| our flags]`; PEER `self`
compares with our own one-device step. Peers (tf, jax, torch, ort) run from
virtual environments under $DIST_PEERS (default ~/.cache/dist-peers), made on
first use from the Python registry. A ratio is ours / peer, each the smallest
of the medians of --rounds interleaved runs; below 1 we are faster.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PEERS = os.environ.get("DIST_PEERS", os.path.expanduser("~/.cache/dist-peers"))
PACKAGES = {"tf": ["tensorflow-cpu", "onnx", "onnxruntime"], "jt": ["jax[cpu]", "optax", "flax", "torch==2.13.0"]}
OPTIMIZERS = {"mnist-cnn": "adam:lr=1e-3", "mnist-mlp": "sgd:lr=0.01",
              "resnet18-cifar": "momentum:lr=0.1,momentum=0.9", "gpt-6x384": "adamw:lr=3e-4"}


def python_of(peer):
    name = "tf" if peer in ("tf", "ort") else "jt"
    python = f"{PEERS}/{name}/bin/python"
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", f"{PEERS}/{name}"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], check=True)
    return python


def last_json(command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stderr.strip()[-2000:]}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def ours(workload, batch, dtype, flags, seconds, models, mode):
    command = [f"{TOP}/build/bin/dist-run", "bench", f"{models}/{workload}.onnx", "--batch-size", batch, "--precision", dtype,
               "--seconds", str(seconds), "--data", "random", "--json", "--mode", "predict" if mode == "predict" else "train",
               "--loss", "sparse-categorical-crossentropy", "--from-logits", "true", "--optimizer", OPTIMIZERS[workload], *flags]
    return last_json(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--models", default=os.path.join(TOP, "build", "bench-models"))
    args = parser.parse_args()
    if not os.path.exists(f"{args.models}/gpt-6x384.onnx"):
        subprocess.run([python_of("tf"), f"{HERE}/make_models.py", args.models], check=True, stdout=subprocess.DEVNULL)
    print(f"{'workload':<16}{'batch':>6} {'type':<5}{'against':<18}{'ours ms':>9}{'theirs':>9}{'ratio':>7}")
    for spec in args.specs:
        words, _, flags = spec.partition("|")
        workload, batch, dtype, peer, mode = words.split()
        mine, theirs = [], []
        for _ in range(args.rounds):
            mine.append(ours(workload, batch, dtype, flags.split(), args.seconds, args.models, mode)["step_ms"])
            if peer == "self":
                theirs.append(ours(workload, batch, dtype, [], args.seconds, args.models, mode)["step_ms"])
            else:
                theirs.append(last_json([python_of(peer), f"{HERE}/peer_{peer}.py", workload, "--batch", batch, "--dtype", dtype,
                                         "--mode", mode, "--seconds", str(args.seconds)])["step_ms"])
        print(f"{workload:<16}{batch:>6} {dtype:<5}{peer + ' ' + mode:<18}{min(mine):>9.2f}{min(theirs):>9.2f}"
              f"{min(mine) / min(theirs):>7.2f}", flush=True)


if __name__ == "__main__":
    main()
