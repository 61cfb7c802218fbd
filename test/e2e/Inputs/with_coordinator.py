"""Runs a command with a dist-run coordinator, whose address stands there for COORDINATOR."""
import subprocess
import sys

import tasks

address = tasks.reserve()
coordinator, line = tasks.start_coordinator(address)
assert f"coordinator://{address}" in line, line
words = [word.replace("COORDINATOR", f"coordinator://{address}") for word in sys.argv[1:]]
code = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
coordinator.terminate()
coordinator.wait()
sys.exit(code)
