"""Exports a model so that every weight can be found again in the file.

Exporters simplify: zero biases vanish, equal initializers become one, weights are
transposed and renamed. So each weight is exported with numbers that occur nowhere
else, which nothing simplifies, and afterwards every initializer is given the
weight's own values and name. Used by keras_to_onnx.py and pytorch_to_onnx.py.
"""
import numpy as np
import onnx
from onnx import numpy_helper

# Floats by their bit patterns, one after another from 22.98 on: all different,
# positive and finite for up to 10^9 elements.
FIRST = 0x41B7E3A1


class Stamps:
    """The numbers that stand for weights while a model is exported."""

    def __init__(self):
        self.next = FIRST
        self.weights = []  # name, own values, first pattern

    def stamp(self, name, values):
        """Numbers of the same shape, to be exported instead of `values` (float32)."""
        values = np.asarray(values, np.float32)
        first, self.next = self.next, self.next + values.size
        self.weights.append((name, values, first))
        return np.arange(first, first + values.size, dtype=np.int32).view(np.float32).reshape(values.shape)

    def restore(self, model):
        """Gives the file's initializers their weights' values and names; says which weights the file lacks."""
        found, taken = {}, {w.name for w in model.graph.initializer}
        firsts = np.array([first for _, _, first in self.weights])
        for initializer in model.graph.initializer:
            if initializer.data_type != onnx.TensorProto.FLOAT:
                continue
            array = numpy_helper.to_array(initializer)
            patterns = np.ascontiguousarray(array).view(np.int32).reshape(array.shape)
            if array.size == 0 or not FIRST <= patterns.min() < self.next:
                continue
            name, values, first = self.weights[np.searchsorted(firsts, patterns.min(), side="right") - 1]
            if array.size == 1 and values.size > 1:
                continue  # a number of the model's own
            # Whatever the exporter moved: each number says which element it stands for.
            order = patterns - first
            if order.min() < 0 or order.max() >= values.size:
                raise SystemExit(f"error: initializer '{initializer.name}' mixes weights; the exporter computed with '{name}'")
            found.setdefault(name, []).append(initializer.name)
            new = numpy_helper.from_array(values.reshape(-1)[order], initializer.name)
            initializer.CopyFrom(new)
        for name, uses in found.items():
            if len(uses) == 1 and name not in taken:
                rename(model, uses[0], name)
        return [name for name, values, _ in self.weights if name not in found and values.size]


def rename(model, old, new):
    for initializer in model.graph.initializer:
        if initializer.name == old:
            initializer.name = new
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new


def compare(model, inputs, wanted, tolerance=1e-3):
    """Runs the file by ONNX Runtime, where it is installed, against what the framework computed."""
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed: the file was not compared with the model")
        return
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})
    for name, ours, theirs in zip((o.name for o in session.get_outputs()), got, wanted):
        difference = float(np.max(np.abs(ours - theirs), initial=0)) / max(float(np.max(np.abs(theirs), initial=0)), 1e-6)
        print(f"output '{name}': largest relative difference {difference:.1e}")
        if not difference <= tolerance:
            raise SystemExit(f"error: the file does not compute what the model does (output '{name}')")
