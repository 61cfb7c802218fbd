"""Sends signals to running commands and tells how they end. interrupt.py CASE FOLDER MODEL DATA"""
import json, os, shutil, signal, subprocess, sys, time

case, folder, model, data = sys.argv[1:]
FIT = ["dist-run", "fit", model, "--data", data, "--scale", "x=1/16", "--loss", "sparse-categorical-crossentropy",
       "--optimizer", "adam", "--batch-size", "32"]


def start(words, interrupts=signal.SIG_DFL, **settings):
    # Whoever started this may have SIGINT ignored.
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts), **settings)


def until(done, what):
    end = time.monotonic() + 240
    while not done():
        assert time.monotonic() < end, f"waited for {what} in vain"
        time.sleep(0.01)


def catches(pid, number):
    """Whether the process has a handler for the signal by now."""
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_ended(pid):
    """Also where nobody has reaped it: it is an orphan, and some containers have no process that does."""
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def lines(path):
    return open(path).read().count("\n") if os.path.exists(path) else 0


def losses(path):
    rows = [json.loads(line) for line in open(path)]
    return [row["loss"] for row in rows if row["kind"] == "step"]


def packages():
    return [name for name in os.listdir(folder) if os.path.exists(f"{folder}/{name}/package")]


def start_compiler():
    """A run, and its compiler, which stands still in the middle of its work."""
    for _ in range(20):
        run = start(FIT + ["--no-compile-cache"], env={**os.environ, "TMPDIR": folder})
        children = f"/proc/{run.pid}/task/{run.pid}/children"
        until(lambda: open(children).read().strip() and os.listdir(folder), "the compiler")
        words = open(children).read().split()
        if words:
            child = int(words[0])
            os.kill(child, signal.SIGSTOP)
            if not packages():
                return run, child
            os.kill(child, signal.SIGCONT)
        # It was over before this process had a CPU.
        run.send_signal(signal.SIGTERM)
        run.communicate()
        for name in os.listdir(folder):
            shutil.rmtree(f"{folder}/{name}")
    raise SystemExit("no compiler was seen at work")


if case == "fit":
    # Twice ended in the middle of an epoch, then resumed: the curve of a run that was left alone.
    curve = []
    for number in (signal.SIGINT, signal.SIGTERM):
        part = f"{folder}/part{number}.jsonl"
        run = start(FIT + ["--epochs", "100000", "--checkpoint", f"{folder}/ck", "--resume", "--history", part])
        until(lambda: lines(part) > 60, "steps")
        run.send_signal(number)
        run.send_signal(number)  # at once, as timeout does: it is the same one
        text = run.communicate()[1]
        curve += losses(part)
        said = f"stopped after step {len(curve)} of 4500000, saved in {folder}/ck; the same command with --resume"
        states = sorted(os.listdir(f"{folder}/ck"))
        print(signal.Signals(number).name, "exit", run.returncode, "said:", said in text, "saved:",
              f"step-{len(curve):012}" in states, "rest:", [name for name in states if name.startswith(".s")])
    total = str(len(curve) + 20)
    subprocess.run(FIT + ["--steps", total, "--checkpoint", f"{folder}/ck", "--resume", "--history", f"{folder}/rest.jsonl"],
                   check=True, stderr=subprocess.DEVNULL)
    curve += losses(f"{folder}/rest.jsonl")
    subprocess.run(FIT + ["--steps", total, "--history", f"{folder}/whole.jsonl"], check=True, stderr=subprocess.DEVNULL)
    print("the curve of a whole run:", curve == losses(f"{folder}/whole.jsonl"))
elif case == "second":
    # With these options nobody comes between the steps of a launch.
    run = start(FIT + ["--on-nonfinite", "continue", "--steps-per-epoch", "12000", "--steps-per-launch", "12000",
                       "--output", f"{folder}/model.onnx", "--history", f"{folder}/h.jsonl"])
    until(lambda: os.path.exists(f"{folder}/h.jsonl"), "the training")
    before = cpu_seconds(run.pid)
    until(lambda: cpu_seconds(run.pid) > before + 0.5, "steps")
    run.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    print("after the first:", run.poll())
    run.send_signal(signal.SIGTERM)
    text = run.communicate()[1]
    print("after the second:", run.returncode, "said:", "a second one ends at once" in text, "finished:",
          "stopped after" in text, os.listdir(folder))
elif case in ("compile", "kill"):
    run, child = start_compiler()
    run.send_signal(signal.SIGTERM if case == "compile" else signal.SIGKILL)
    os.kill(child, signal.SIGCONT)
    text = run.communicate()[1]
    print("exit", run.returncode, text.strip())
    until(lambda: has_ended(child), "the compiler's end")
    # A compiler that was left alone would have finished its package.
    print("packages:", packages())
    if case == "compile":
        print("left:", os.listdir(folder))
elif case == "bench":
    run = start(["dist-run", "bench", model, "--loss", "sparse-categorical-crossentropy", "--seconds", "100"])
    until(lambda: catches(run.pid, signal.SIGINT), "the handler")
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    print("exit", run.wait(), run.stderr.read().strip())
elif case == "ignored":
    # As `nohup` and shells for background jobs have it.
    run = start(FIT + ["--epochs", "100000", "--history", f"{folder}/h.jsonl"], signal.SIG_IGN)
    until(lambda: lines(f"{folder}/h.jsonl") > 10, "steps")
    run.send_signal(signal.SIGINT)
    before = lines(f"{folder}/h.jsonl")
    until(lambda: lines(f"{folder}/h.jsonl") > before + 10, "more steps")
    run.send_signal(signal.SIGTERM)
    print("exit", run.wait(), "without a folder:", "nothing is saved without --checkpoint" in run.stderr.read())
