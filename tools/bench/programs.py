"""The programs that benchmarks run, and what they train the workloads with."""
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPTIMIZERS = {"mnist-cnn": "adam:lr=1e-3", "mnist-mlp": "sgd:lr=0.01",
              "resnet18-cifar": "momentum:lr=0.1,momentum=0.9", "gpt-6x384": "adamw:lr=3e-4"}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def last_json(command):
    return json.loads(run(command).strip().splitlines()[-1])
