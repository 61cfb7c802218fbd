"""Whether `fit_processes` tells what a history says, bit for bit.

    compare_history.py HISTORY TOLD...
"""
import json
import struct
import sys


def single(value):
    return struct.pack("<f", value)


history = [json.loads(line) for line in open(sys.argv[1])]
steps = {row["step"]: row["loss"] for row in history if "step" in row}
epochs = {row["epoch"]: row for row in history if "step" not in row}
assert steps and epochs, "the history is empty"
for path in sys.argv[2:]:
    told = [line.split() for line in open(path)]
    losses = {int(words[1]): float.fromhex(words[3]) for words in told if words[0] == "step"}
    assert losses.keys() == steps.keys(), f"{path}: {len(losses)} steps, not {len(steps)}"
    for step, loss in losses.items():
        assert single(loss) == single(steps[step]), f"{path}: step {step}: {loss} instead of {steps[step]}"
    values = [words for words in told if words[0] == "epoch"]
    assert values, f"{path}: no epoch"
    for _, epoch, name, value in values:
        expected = epochs[int(epoch)][name]
        assert single(float.fromhex(value)) == single(expected), f"{path}: epoch {epoch}: {name} {value}, not {expected}"
    sent = [int(words[3]) for words in told if words[0] == "rank"]
    assert sent and all(sent), f"{path}: a rank has sent nothing"
    print(f"{path}: {len(losses)} steps, {len({words[1] for words in values})} epochs: equal; {len(sent)} ranks sent {sum(sent)} bytes")
