"""Whether runs tell what a history says, bit for bit.

    compare_history.py [--close] HISTORY TOLD...

TOLD is what `fit_processes` has printed, or a history (.jsonl), or FIRST+SECOND, the
parts of a run that was resumed. --close: to rounding, of another strategy.
"""
import json
import struct
import sys

arguments = sys.argv[1:]
close = arguments[0] == "--close"
arguments = arguments[close:]


def same(got, expected):
    if close:
        return abs(got - expected) <= 1e-4 * max(1, abs(expected))
    return struct.pack("<f", got) == struct.pack("<f", expected)


def read(path):
    """Losses by step, (epoch, name, value), and bytes by rank."""
    losses, values, sent = {}, [], []
    for part in path.split("+"):
        for line in open(part):
            if part.endswith(".jsonl"):
                row = json.loads(line)
                if row["kind"] == "step":
                    losses[row["step"]] = row["loss"]
                else:
                    values += [(row["epoch"], name, value) for name, value in row.items()
                               if name not in ("kind", "epoch", "seconds", "exposed_seconds")]
                continue
            words = line.split()
            if words[0] == "step":
                losses[int(words[1])] = float.fromhex(words[3])
            elif words[0] == "epoch":
                values.append((int(words[1]), words[2], float.fromhex(words[3])))
            else:
                sent.append(int(words[3]))
    return losses, values, sent


steps, rows, _ = read(arguments[0])
epochs = {(epoch, name): value for epoch, name, value in rows}
assert steps and epochs, "the history is empty"
for path in arguments[1:]:
    losses, values, sent = read(path)
    assert losses.keys() == steps.keys(), f"{path}: {len(losses)} steps, not {len(steps)}"
    for step, loss in losses.items():
        assert same(loss, steps[step]), f"{path}: step {step}: {loss} instead of {steps[step]}"
    assert values, f"{path}: no epoch"
    for epoch, name, value in values:
        assert same(value, epochs[epoch, name]), f"{path}: epoch {epoch}: {name} {value}, not {epochs[epoch, name]}"
    assert sent and all(sent), f"{path}: a rank has sent nothing"
    print(f"{path}: {len(losses)} steps, {len({epoch for epoch, _, _ in values})} epochs: equal; "
          f"{len(sent)} ranks sent {sum(sent)} bytes")
