"""Prints what dist-opt --print-cluster says of a port that this process listens on, with its exit code."""
import json
import socket
import subprocess

with socket.create_server(("127.0.0.1", 0)) as server:
    address = "127.0.0.1:%d" % server.getsockname()[1]
    text = json.dumps({"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}})
    done = subprocess.run(["dist-opt", "--print-cluster", "--cluster", text], capture_output=True, text=True)
print(f"exit {done.returncode}: {done.stderr.strip()}")
