#!/usr/bin/env python3
"""Runs a command while a folder is another user's: as_another.py FOLDER COMMAND... Only root can give it away."""
import os
import subprocess
import sys

folder, command = sys.argv[1], sys.argv[2:]
owner = os.stat(folder).st_uid
if os.geteuid():
    print("skipped: not root", flush=True)
    sys.exit(subprocess.run(command).returncode)
os.chown(folder, 12345, -1)
try:
    sys.exit(subprocess.run(command).returncode)
finally:
    os.chown(folder, owner, -1)
