#!/usr/bin/env python3
"""Kills a training run at odd moments and resumes it: kill_and_resume.py FOLDER COMMAND...

COMMAND is a `dist-run fit` without --checkpoint and --history. It runs once
undisturbed, then with five kills (SIGKILL) and --resume; the losses of all its
steps must have the same bits. Prints how many steps were compared.
"""
import json
import os
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]


def losses(path):
    """Of the steps whose line is whole: a kill may cut the last one."""
    steps = {}
    if os.path.exists(path):
        # At once: who reads line by line while the run writes may get one in two parts.
        text = open(path, encoding="utf-8").read()
        for line in text[: text.rfind("\n") + 1].splitlines():
            row = json.loads(line)
            if row["kind"] == "step":
                steps[row["step"]] = row["loss"]
    return steps


def run(name, *more):
    history = os.path.join(folder, name + ".jsonl")
    return history, [*command, "--save-every", "7", "--history", history, "--checkpoint", *more]


history, whole = run("whole", os.path.join(folder, "ck-whole"))
subprocess.run(whole, check=True, capture_output=True)
want, got, killed = losses(history), {}, 0
for part in range(6):
    history, words = run(f"part{part}", os.path.join(folder, "ck"), "--resume")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Each of the first five dies once it has told of a step in its sixth of the run.
    while process.poll() is None and (part == 5 or max(losses(history), default=0) <= len(want) * (part + 1) // 6):
        time.sleep(0.002)
    if process.poll() is None:
        process.kill()
        killed += 1
    process.wait()
    for step, loss in losses(history).items():
        if got.setdefault(step, loss) != loss:
            print(f"step {step} has other bits in part {part}")
different = [step for step in want if got.get(step) != want[step]]
left = [name for name in os.listdir(os.path.join(folder, "ck")) if name.startswith(".saving")]
print(f"{killed} kills, {len(want)} steps, exit {process.returncode}, {len(left)} unfinished states left, different: {different[:5]}")
