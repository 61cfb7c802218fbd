"""Sends SIGINT and SIGTERM to `dist-run fit` as its workers start. interrupt_workers.py PACKAGE DATA OPTIONS..."""
import os, signal, subprocess, sys, time

package, data, *options = sys.argv[1:]
FIT = ["dist-run", "fit", package, "--data", data, "--scale", "x=1/16", "--workers", "2", "--epochs", "1000000", *options]
RUNS = 6

for number in (signal.SIGINT, signal.SIGTERM):
    good = 0
    for run in range(RUNS):
        # Whoever started this may have SIGINT ignored.
        process = subprocess.Popen(FIT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={name: value for name, value in os.environ.items() if name != "TF_CONFIG"},
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while process.poll() is None and not open(f"/proc/{process.pid}/task/{process.pid}/children").read().strip():
            time.sleep(0.001)
        # The later, the further the workers are.
        time.sleep(0.03 * run)
        process.send_signal(number)
        text = process.communicate()[1]
        good += process.returncode == 128 + number
        if process.returncode != 128 + number:
            print("run", run, "exit", process.returncode, text)
    print(f"{good} of {RUNS} runs ended by {number.name} with {128 + number}")
