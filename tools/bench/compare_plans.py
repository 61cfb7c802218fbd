#!/usr/bin/env python3
"""Holds what --strategy auto predicts against what is measured.

    tools/bench/compare_plans.py [WORKLOAD BATCH]... [--devices cpu:2] [--rounds 3] [--machine FILE]

Measures every strategy that `auto` weighs on the workload, interleaved, and
prints predicted and measured steps side by side, the chosen one marked. Ends
with 1 when a chosen strategy takes over 1.1 times the fastest measured. The
machine is measured first (dist-run bench --calibrate) unless FILE is given.
"""
import argparse
import os
import re
import sys
import tempfile

from programs import OPTIMIZERS, TOP, last_json, run

DEFAULT = ["mnist-mlp", "128", "mnist-cnn", "128"]
ROW = re.compile(r"^([* ]) (\S+?)(?: on (\S+?))?(, --split rules)?(?:, --split-preset (\S+))? +([\d.]+) ms")


class Plan:
    """A row of what auto weighed; `saved`: the file with the chosen one, of which the row does not say which variables are split."""

    def __init__(self, row, devices, saved):
        chosen, strategy, mesh, rules, preset, predicted = row.groups()
        chosen, predicted = chosen == "*", float(predicted)
        self.chosen, self.predicted, self.measured = chosen, predicted, []
        self.name = strategy + (f" on {mesh}" if mesh else "") + (rules or "") + (f", --split-preset {preset}" if preset else "")
        # One device has all the cores. The file says all of its plan.
        self.flags = ["--strategy", "@" + saved] if rules else ["--strategy", strategy, "--devices", devices if mesh else "cpu"]
        for option, value in (("--mesh", mesh), ("--split-preset", preset)):
            self.flags += [option, value] if value and not rules else []


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=DEFAULT)
    parser.add_argument("--devices", default="cpu:2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--models", help="folder of the workloads (default BUILD/bench-models, made by compare.py)")
    parser.add_argument("--machine", help="figures that bench --calibrate wrote")
    args = parser.parse_args(arguments)
    models = args.models or f"{args.build}/bench-models"
    over = False
    with tempfile.TemporaryDirectory() as scratch:
        machine = args.machine or f"{scratch}/machine.json"
        if not args.machine:
            run([f"{args.build}/bin/dist-run", "bench", "--calibrate", "--machine", machine])
        for workload, batch in zip(args.workloads[::2], args.workloads[1::2]):
            model = f"{models}/{workload}.onnx"
            training = ["--batch-size", batch, "--loss", "sparse-categorical-crossentropy", "--from-logits", "true", "--optimizer",
                        OPTIMIZERS[workload]]
            saved = f"{scratch}/{workload}.plan"
            text = run([f"{args.build}/bin/dist-opt", model, *training, "--devices", args.devices, "--machine", machine, "--strategy",
                        "auto", "--save-plan", saved, "--explain"])
            # Split rules are known of the chosen plan only, by the file.
            plans = [Plan(row, args.devices, saved) for row in map(ROW.match, text.splitlines())
                     if row and "not possible" not in row.string and (row[1] == "*" or not row[4])]
            if sum(plan.chosen for plan in plans) != 1:
                sys.exit(f"compare_plans.py: error: no chosen plan among what auto weighed ({model}):\n{text[:2000]}")
            packages = []
            for number, plan in enumerate(plans):
                packages.append(f"{scratch}/{workload}-{number}")
                run([f"{args.build}/bin/dist-opt", model, *training, *plan.flags, "--emit=package", "-o", packages[-1]])
            for _ in range(args.rounds):
                for plan, package in zip(plans, packages):
                    plan.measured.append(last_json([f"{args.build}/bin/dist-run", "bench", package, "--seconds", str(args.seconds), "--data",
                                                    "random", "--json"])["step_ms"])
            best = min(min(plan.measured) for plan in plans)
            width = max(len(plan.name) for plan in plans)
            print(f"{workload} batch {batch}, {args.devices}\n  {'strategy':{width}} predicted  measured  of the best")
            for plan in plans:
                ratio = min(plan.measured) / best
                print(f"{'*' if plan.chosen else ' '} {plan.name:{width}} {plan.predicted:9.2f} {min(plan.measured):9.2f} {ratio:9.2f}"
                      + ("  over 1.1" if plan.chosen and ratio > 1.1 else ""))
                over = over or plan.chosen and ratio > 1.1
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
