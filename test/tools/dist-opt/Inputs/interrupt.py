"""Ends a compiler that makes a package (or does what OPTIONS say), once its folder is there. interrupt.py FOLDER MODEL [OPTIONS]"""
import os, signal, subprocess, sys, time

folder, model, *options = sys.argv[1:]
run = subprocess.Popen(["dist-opt", model, "--loss", "sparse-categorical-crossentropy", "--batch-size", "64",
                        *(options or ["-o", f"{folder}/package"])],
                       stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder})
end = time.time() + 60
while not os.listdir(folder):
    assert time.time() < end, "no folder"
    time.sleep(0.005)
run.send_signal(signal.SIGTERM)
print("exit", run.wait(), run.stderr.read().strip())
print("left:", os.listdir(folder))
