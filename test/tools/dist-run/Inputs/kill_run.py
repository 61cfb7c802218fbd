#!/usr/bin/env python3
"""Kills a run, and counts what is in its TMPDIR before and after others: kill_run.py FOLDER COMMAND... (the seconds that it takes are put behind)"""
import os
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]


def tell(when):
    print(f"{when}: {len(os.listdir(folder))}")


def run_another():
    subprocess.run(command + ["0.05"], check=True, stdout=subprocess.DEVNULL)


first = subprocess.Popen(command + ["600"], stdout=subprocess.DEVNULL)
while first.poll() is None and not any("manifest" in names for _, _, names in os.walk(folder)):
    time.sleep(0.02)
tell("while it runs")
run_another()
tell("beside another")
first.kill()
first.wait()
tell("killed")
run_another()
tell("after the next")
