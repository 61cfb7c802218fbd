"""Exports a PyTorch module as people have them and trains it by PyTorch: exported_pytorch.py PROJECT FOLDER

FOLDER/model.onnx is what examples/export/pytorch_to_onnx.py makes of it,
FOLDER/model.jsonl the losses of 40 steps on the repository's digits. The same of
FOLDER/told.onnx, of which the script has to tell what is trained. FOLDER/dropout.onnx
is not trained: it draws numbers of its own.
"""
import gzip
import json
import os
import sys

project, folder = sys.argv[1:3]
sys.path.insert(0, os.path.join(project, "examples", "export"))
os.makedirs(folder, exist_ok=True)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from pytorch_to_onnx import export  # noqa: E402
from torch import nn  # noqa: E402

torch.manual_seed(1)


def idx(name):
    data = gzip.open(os.path.join(project, "examples", "data", "digits", name)).read()
    dims = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def net(*dropout):
    """New norms have equal scales, and zero biases are equal: what exporters tie."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Tanh(), nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.GELU(),
        nn.Flatten(), nn.Linear(256, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, 32), nn.LayerNorm(32), nn.Tanh(),
        *dropout, nn.Linear(32, 10))


class Told(nn.Module):
    """A table that is no parameter, a scale that only its exponential is, and a layer that is frozen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(64))
        self.first, self.frozen, self.last = nn.Linear(64, 16), nn.Linear(16, 16), nn.Linear(16, 10)
        self.norm = nn.BatchNorm1d(16, affine=False)
        self.scale, self.gain = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.zeros(16))
        self.frozen.requires_grad_(False)

    def forward(self, x):
        x = self.frozen(torch.tanh(self.first(x.flatten(1) + self.table)))
        return self.last(torch.tanh(self.norm(x) * torch.sigmoid(self.gain))) * self.scale.exp()


class DropPath(nn.Module):
    """As timm and transformers have it: each example drops its path."""

    def __init__(self, rate):
        super().__init__()
        self.drop_prob = rate

    def forward(self, x):
        if not self.training or self.drop_prob == 0:
            return x
        keep = 1 - self.drop_prob
        return x * x.new_empty((x.shape[0], *[1] * (x.ndim - 1))).bernoulli_(keep).div_(keep)


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x) if self.training else x


def train(model, name):
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Conv2d)):
            nn.init.zeros_(part.bias)
    export(model, example, os.path.join(folder, name + ".onnx"))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3, eps=1e-7)
    model.train()
    with open(os.path.join(folder, name + ".jsonl"), "w") as f:
        for step in range(40):
            rows = slice(32 * step, 32 * step + 32)
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            f.write(json.dumps({"kind": "step", "epoch": 1, "step": step + 1, "loss": float(loss.detach())}) + "\n")


example = (torch.rand(2, 1, 8, 8),)
x = torch.from_numpy(idx("train-images-idx3-ubyte.gz")[:, None].astype(np.float32) / 16)
y = torch.from_numpy(idx("train-labels-idx1-ubyte.gz").astype(np.int64))
train(net(), "model")
train(Told(), "told")
export(net(nn.Dropout(0.5)), example, os.path.join(folder, "dropout.onnx"))
export(net(DropPath(0.25)), example, os.path.join(folder, "path.onnx"))
try:
    export(net(Noise()), example, os.path.join(folder, "noise.onnx"))
except SystemExit as error:
    print(error)
