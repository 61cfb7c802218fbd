"""Exports a PyTorch module as people have them and trains it by PyTorch: exported_pytorch.py PROJECT FOLDER

FOLDER/model.onnx is what examples/export/pytorch_to_onnx.py makes of it,
FOLDER/model.jsonl the losses of 40 steps on the repository's digits. The same of
FOLDER/told.onnx, of which the script has to tell what is trained, FOLDER/parts.onnx and
FOLDER/stops.onnx.
FOLDER/dropout.onnx is not trained: it draws numbers of its own.
"""
import os
import sys

project, folder = sys.argv[1:3]
sys.path.insert(0, os.path.join(project, "examples", "export"))
os.makedirs(folder, exist_ok=True)
import torch  # noqa: E402
from pytorch_to_onnx import export  # noqa: E402
from torch import nn  # noqa: E402
from train_pytorch import read_digits, train  # noqa: E402

torch.manual_seed(1)


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


class Parts(nn.Module):
    """Layers that torch.onnx.export has no words for."""

    def __init__(self):
        super().__init__()
        self.mean, self.sum = nn.EmbeddingBag(17, 8), nn.EmbeddingBag(17, 8, mode="sum")
        self.pair = nn.Bilinear(8, 8, 10)

    def forward(self, x):
        pixels = (x * 16).long().flatten(1)
        return self.pair(self.mean(pixels), 0.1 * self.sum(pixels))


class Stops(nn.Module):
    """Where gradients stop: a value in the place of another, whose gradient it gets, and a size that is a number."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = self.first(x.flatten(1))
        x = x + (torch.tanh(2 * x) - x).detach()
        with torch.no_grad():
            size = x.pow(2).mean(1, keepdim=True).sqrt() + torch.sigmoid(self.second(x)).mean()
        return self.last(torch.tanh(self.second(x / size)))


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


def export_and_train(model, name):
    for part in model.modules():
        if isinstance(part, (nn.Linear, nn.Conv2d)):
            nn.init.zeros_(part.bias)
    export(model, example, os.path.join(folder, name + ".onnx"))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3, eps=1e-7)
    train(model, optimizer, digits, 40, os.path.join(folder, name + ".jsonl"))


example = (torch.rand(2, 1, 8, 8),)
digits = read_digits(project)
export_and_train(net(), "model")
export_and_train(Told(), "told")
export_and_train(Parts(), "parts")
export_and_train(Stops(), "stops")
export(net(nn.Dropout(0.5)), example, os.path.join(folder, "dropout.onnx"))
export(net(DropPath(0.25)), example, os.path.join(folder, "path.onnx"))
try:
    export(net(Noise()), example, os.path.join(folder, "noise.onnx"))
except SystemExit as error:
    print(error)
