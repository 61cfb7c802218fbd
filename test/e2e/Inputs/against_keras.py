#!/usr/bin/env python3
"""Trains our digits models and compares each step's loss with Keras': against_keras.py PROJECT FOLDER [STRATEGY FLAGS...]

digits_keras.json has what Keras made of them (make_digits_keras.py writes it).
Prints a line a case and, last, how many curves agree; exits 1 when one does not.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Both sides round to float32 and sum in orders of their own: these curves differ
# by 7e-7, and by 1e-4 where one activation is zero but for rounding, so that its
# ReLU or pool chooses otherwise (see digits-curves.test). parity.py's bound.
TOLERANCE = 2e-4


def losses(path):
    with open(path, encoding="utf-8") as f:
        return [row["loss"] for row in map(json.loads, f) if row["kind"] == "step"]


def main():
    project, folder, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(HERE, "digits_keras.json"), encoding="utf-8") as f:
        cases = json.load(f)["cases"]
    agree, compared = 0, 0
    for case in cases:
        # A replica normalizes by its own part of the batch, Keras' curve by all of it.
        normal = ["--sync-batch-norm"] if "-bn" in case["model"] and flags else []
        history = os.path.join(folder, "history.jsonl")
        run = subprocess.run(
            ["dist-run", "fit", os.path.join(project, case["model"]), "--data", os.path.join(project, "examples/data/digits"),
             "--scale", "x=1/16", "--loss", "sparse-categorical-crossentropy", "--optimizer", case["optimizer"],
             "--batch-size", str(case["batch"]), "--steps", str(len(case["losses"])), "--shuffle", "off",
             "--history", history, *normal, *flags], capture_output=True, text=True)
        compared += 1
        name = f"{os.path.basename(case['model'])} {case['optimizer']} batch {case['batch']}"
        if run.returncode:
            print(f"{name}: FAILED: {run.stderr.strip().splitlines()[-1:]}")
            continue
        ours = losses(history)
        if len(ours) != len(case["losses"]):
            print(f"{name}: {len(ours)} steps instead of {len(case['losses'])}")
            continue
        worst = max(abs(a - b) / max(abs(b), 0.1) for a, b in zip(ours, case["losses"]))
        agree += worst <= TOLERANCE
        print(f"{name}: {len(ours)} steps, largest difference {worst:.1e}{'' if worst <= TOLERANCE else ' DIFFERS'}")
    print(f"{agree} of {compared} curves equal Keras'")
    sys.exit(agree != compared)


if __name__ == "__main__":
    main()
