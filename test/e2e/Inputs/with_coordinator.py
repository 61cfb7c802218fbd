"""Runs a command with a dist-run coordinator, whose address stands there for COORDINATOR.

    with_coordinator.py [--at ADDRESS] COMMAND...    ADDRESS: where it listens, at any port
"""
import re
import subprocess
import sys

import tasks

words = sys.argv[1:]
address = tasks.reserve()
if words[0] == "--at":
    coordinator, line = tasks.start_coordinator(f"{words[1]}:0")
    print(line)
    address = "127.0.0.1:" + re.search(r"coordinator://HOST:(\d+)", line)[1]
    words = words[2:]
else:
    coordinator, line = tasks.start_coordinator(address)
    assert f"coordinator://{address}" in line, line
words = [word.replace("COORDINATOR", f"coordinator://{address}") for word in words]
code = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
coordinator.terminate()
coordinator.wait()
sys.exit(code)
