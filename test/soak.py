#!/usr/bin/env python3
"""Trains with two workers while other processes want each CPU four times over, and
counts how often one that works is taken for lost. Ends with 1 when any was.

    test/soak.py [--seconds 3600] [--factor 4] [--build build]
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# What is said of a worker that is taken for lost, frozen or cut off.
SUSPECTED = ("no sign of life", "was lost", "has ended", "was given up")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--factor", type=int, default=4, help="busy processes a CPU")
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    args = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    digits = f"{TOP}/examples/data/digits"
    busy = []
    with tempfile.TemporaryDirectory() as folder:
        history, log = f"{folder}/history.jsonl", f"{folder}/log"
        try:
            for _ in range(args.factor * cpus):
                busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            with open(log, "w") as out:
                run = subprocess.Popen(
                    [f"{args.build}/bin/dist-run", "fit", f"{TOP}/examples/models/digits-cnn.onnx", "--scale", "x=1/16", "--data",
                     f"x={digits}/train-images-idx3-ubyte.gz,y={digits}/train-labels-idx1-ubyte.gz", "--loss", "sparse-categorical-crossentropy",
                     "--optimizer", "sgd:lr=0.001", "--batch-size", "48", "--threads", "1", "--strategy", "multi-worker-mirrored", "--workers", "2",
                     "--epochs", "100000000", "--history", history],
                    stdout=out, stderr=out)
            end = time.monotonic() + args.seconds
            while time.monotonic() < end and run.poll() is None:
                time.sleep(0.2)
            ended = run.poll()
            if ended is None:
                run.send_signal(signal.SIGTERM)
                run.wait(120)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        said = open(log).read()
        rows = [json.loads(line) for line in open(history) if line.endswith("\n")] if os.path.exists(history) else []
    steps = [row for row in rows if row["kind"] == "step"]
    found = [line for line in said.splitlines() if any(word in line for word in SUSPECTED)]
    longest = max((row["seconds"] for row in steps), default=0)
    print(f"{args.seconds:.0f} s at {args.factor} busy processes a CPU: {len(steps)} steps, the longest of {longest:.2f} s; {len(found)} false suspicions")
    if ended is not None or found or not steps:
        print(f"the run {'ended by itself: exit ' + str(ended) if ended is not None else 'went on'}; it said:\n{said[-4000:]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
