"""Whether the last line of an evaluator's history is of a run's last epoch, whose validation data are the same: same_evaluation.py RUN.jsonl EVALUATION.jsonl"""
import json
import sys

run, evaluation = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
epoch = [row for row in run if row["kind"] == "epoch"][-1]
step = [row for row in run if row["kind"] == "step"][-1]["step"]
last = evaluation[-1]
assert (last["kind"], last["epoch"], last["step"]) == ("evaluation", epoch["epoch"], step), (last, epoch, step)
# Sums on several devices have another order, by which a class that is nearly as likely as another may win.
for name, most in (("loss", 1e-5 * epoch["val_loss"]), ("accuracy", 2.5 / last["examples"])):
    assert abs(last[name] - epoch["val_" + name]) <= most, (last, epoch)
print(f"step {step} is the same: {last['examples']} examples")
