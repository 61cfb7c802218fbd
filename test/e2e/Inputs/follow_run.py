"""An evaluator beside a training: follow_run.py SCENARIO dist-run ARGUMENTS...

ARGUMENTS are those of the model, the data and the loss, which both are given. Runs
in the present folder; waits for what happens, however long that takes. The last
line is of the evaluator: its exit code, and whether its history is right: no state
twice, in the order of time, the run's last one at the end, each with the values
that the run itself has found on the same data.
"""
import atexit
import glob
import json
import os
import signal
import subprocess
import sys
import time

scenario, command, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
data = arguments[arguments.index("--data") + 1]
started = []


@atexit.register
def leave_none():
    for process in started:
        if process.poll() is None:
            process.kill()


def start(name, *words):
    """Its output is added to NAME.out and NAME.err."""
    with open(name + ".out", "a") as out, open(name + ".err", "a") as err:
        # Whoever started this may have SIGINT ignored.
        process = subprocess.Popen(
            [command, *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    started.append(process)
    return process


def follow(*more, name="evaluator"):
    return start(name, "evaluate", *arguments, "--checkpoint", "states", "--follow", "--history", "evaluation.jsonl", *more)


def train(*more):
    return start("run", "fit", *arguments, "--validation-data", data, "--checkpoint", "states", "--history", "history.jsonl", *more)


def rows(path, kind):
    """Of lines that are whole."""
    lines = open(path).read().split("\n")[:-1] if os.path.exists(path) else []
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


def evaluated():
    return rows("evaluation.jsonl", "evaluation")


def wait_until(happened, process):
    """False: the process has ended before."""
    while not happened():
        if process.poll() is not None:
            return happened()
        time.sleep(0.01)
    return True


def newest_state():
    return max(glob.glob("states/step-*"), default="states/step-0")


def step_of(state):
    return int(state.rpartition("-")[2])


def whole():
    """It comes before the folder does."""
    evaluator = follow()
    wait_until(lambda: "waiting for a state" in open("evaluator.err").read(), evaluator)
    train("--epochs", "40", "--keep", "1000").wait()
    return evaluator


def killed():
    """It is killed, and started again, which goes on behind what its history holds."""
    run = train("--epochs", "150", "--keep", "1000")
    evaluator = follow()
    wait_until(evaluated, evaluator)
    evaluator.kill()
    evaluator.wait()
    evaluator = follow()
    run.wait()
    evaluator.wait()
    before = open("evaluation.jsonl").read()
    evaluator = follow()
    evaluator.wait()
    print("again:", "nothing" if open("evaluation.jsonl").read() == before else "something")
    return evaluator


def resumed():
    """The run is killed, which is no end, and goes on."""
    run = train("--epochs", "1000000")
    evaluator = follow()
    wait_until(evaluated, evaluator)
    run.kill()
    run.wait()
    print("behind the kill:", "waits" if evaluator.poll() is None else "has ended")
    seen = len(evaluated())
    epochs = step_of(newest_state()) // 45 + 3
    run = train("--epochs", str(epochs), "--resume")
    run.wait()
    evaluator.wait()
    print("run:", run.returncode, "epochs taken up:", {row["run_epoch"] for row in evaluated()}, "more states:", len(evaluated()) > seen)
    return evaluator


def says(name, text):
    return lambda: text in open(name + ".err").read()


def extended():
    """The run has ended, and goes on to more epochs: who is told that waits."""
    train("--epochs", "2").wait()
    first = follow()
    print("without --resume: exit", first.wait(), "rows:", len(evaluated()))
    evaluator = follow("--resume")
    wait_until(says("evaluator", "until it is taken up again (--resume)"), evaluator)
    train("--epochs", "5", "--resume").wait()
    evaluator.wait()
    print("taken up:", sorted({row["run_epoch"] for row in evaluated()}))
    return evaluator


def twice():
    """Of two with one history the second one ends, and names the first one."""
    evaluator = follow()
    wait_until(says("evaluator", "waiting for a state"), evaluator)
    second = follow(name="second")
    print("second: exit", second.wait(), open("second.err").read().strip().replace(f"process {evaluator.pid} on", "process OF THE FIRST on"))
    train("--epochs", "2").wait()
    evaluator.wait()
    print("left:", glob.glob("*.lock"))
    return evaluator


def retained():
    """States that are removed as fast as they come."""
    evaluator = follow()
    train("--epochs", "6", "--save-every", "1", "--keep", "1").wait()
    return evaluator


def stopped():
    """Signals end it, as other commands."""
    for number in (signal.SIGTERM, signal.SIGINT):
        evaluator = follow()
        wait_until(lambda: "waiting for a state" in open("evaluator.err").read(), evaluator)
        evaluator.send_signal(number)
        print(number.name, "exit", evaluator.wait())
        os.remove("evaluator.err")
    train("--epochs", "2").wait()
    return follow()


def check():
    """What is wrong with its history."""
    found, last = evaluated(), max(row["step"] for row in rows("history.jsonl", "step"))
    ages = [(row["run_epoch"], row["step"]) for row in found]
    if not found or ages != sorted(set(ages)) or len({row["run"] for row in found}) != 1:
        return f"not in order: {ages}"
    if ages[-1][1] != last:
        return f"ends at {ages[-1]}, and the run at {last}"
    epochs = {row["epoch"]: row for row in rows("history.jsonl", "epoch")}
    for row in found:
        # Of states that are saved between epochs the run has found nothing.
        if row["step"] % 45 == 0 and row["epoch"] in epochs:
            epoch = epochs[row["epoch"]]
            if (row["loss"], row["accuracy"]) != (epoch["val_loss"], epoch["val_accuracy"]):
                return f"{row} is not {epoch}"
    return ""


evaluator = globals()[scenario]()
code = evaluator.wait()
errors = [line for line in open("evaluator.err") if "error" in line]
print("evaluator: exit", code, check() or "all as the run has it", *errors)
