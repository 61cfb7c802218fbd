"""What the tests that train by PyTorch share: the repository's digits, and a module's losses on them."""
import gzip
import json
import os

import numpy as np
import torch


def read_digits(project):
    """Images of one channel from 0 to 1, and their classes."""
    def idx(name):
        data = gzip.open(os.path.join(project, "examples", "data", "digits", name)).read()
        dims = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
        return np.frombuffer(data, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)

    return (torch.from_numpy(idx("train-images-idx3-ubyte.gz")[:, None].astype(np.float32) / 16),
            torch.from_numpy(idx("train-labels-idx1-ubyte.gz").astype(np.int64)))


def train(model, optimizer, digits, steps, path):
    """Writes the losses of steps of 32 examples, in the data's order, as a history."""
    x, y = digits
    model.train()
    with open(path, "w") as f:
        for step in range(steps):
            rows = slice(32 * step, 32 * step + 32)
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            f.write(json.dumps({"kind": "step", "epoch": 1, "step": step + 1, "loss": float(loss.detach())}) + "\n")
