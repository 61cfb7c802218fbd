"""Exports recurrent PyTorch modules and trains them by PyTorch: exported_recurrent.py PROJECT FOLDER

FOLDER/NAME.onnx is what examples/export/pytorch_to_onnx.py makes of each module, and
FOLDER/NAME.jsonl the losses of 30 steps on the repository's digits, read row by row.
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


class Net(nn.Module):
    """A class from the last step, or from the mean of all; `start`: from a state that is trained."""

    def __init__(self, kind, last=True, start=False, **options):
        super().__init__()
        self.rnn = getattr(nn, kind)(8, 24, **options)
        self.head = nn.Linear(48 if self.rnn.bidirectional else 24, 10)
        self.start = nn.Parameter(torch.randn(1, 1, 24)) if start else None
        self.last = last

    def forward(self, x):
        x = x[:, 0] if self.rnn.batch_first else x[:, 0].transpose(0, 1)
        steps = 1 if self.rnn.batch_first else 0
        state = None if self.start is None else self.start.expand(-1, x.shape[1 - steps], -1)
        y = self.rnn(x, state)[0]
        return self.head(y.select(steps, -1) if self.last else y.mean(steps))


NETS = {
    "lstm": lambda: Net("LSTM", batch_first=True),
    "lstm-deep": lambda: Net("LSTM", last=False, num_layers=2, bidirectional=True),
    "gru": lambda: Net("GRU", start=True),
    "gru-deep": lambda: Net("GRU", last=False, num_layers=2, bidirectional=True, batch_first=True),
    "rnn": lambda: Net("RNN", num_layers=2, batch_first=True),
    "rnn-relu": lambda: Net("RNN", last=False, nonlinearity="relu", bidirectional=True, bias=False),
}
digits = read_digits(project)
for name, make in NETS.items():
    torch.manual_seed(1)
    model = make()
    export(model, (torch.rand(2, 1, 8, 8),), os.path.join(folder, name + ".onnx"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    train(model, optimizer, digits, 30, os.path.join(folder, name + ".jsonl"))
