"""closed_reader.py [--ignored] COMMAND...: runs it with a stdout whose reader has
closed the pipe, and prints what it says on stderr and how it ends. --ignored: it
is started with SIGPIPE ignored."""
import os
import signal
import subprocess
import sys

command = sys.argv[1:]
ignored = command[0] == "--ignored"
if ignored:
    del command[0]
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
reader, writer = os.pipe()
os.close(reader)
run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True, restore_signals=not ignored)
end = f"ended by {signal.Signals(-run.returncode).name}" if run.returncode < 0 else f"exit {run.returncode}"
print(f"{run.stderr}{end}")
