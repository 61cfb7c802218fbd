#!/usr/bin/env python3
"""Writes a Keras model as an ONNX file that can be trained: keras_to_onnx.py MODEL.keras MODEL.onnx

tf2onnx writes models for inference: it drops zero biases, folds batch norm into
convolutions and removes dropout, so that another model would be trained. Here
every weight is kept under its name, BatchNormalization and Dropout are nodes. Needs
tensorflow, tf2onnx and onnx; with onnxruntime the file is compared with the model.
"""
import sys

import keras
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
import tf2onnx.optimizer
from onnx import helper, numpy_helper

from weights import Stamps, compare

# Layers that have to survive are exported as the maximum with a number of their
# own, so low that nothing is below it and that no simplification knows it.
LOWEST = -1e38


# Those of tf2onnx's simplifications that move or merge what is marked.
LEFT_OUT = {"optimize_transpose", "remove_back_to_back", "merge_duplication"}


def convert(function, signature, opset):
    """As tf2onnx does, without what is left out."""
    every = tf2onnx.optimizer._get_optimizers()
    some = type(every)((name, make) for name, make in every.items() if name not in LEFT_OUT)
    optimize = tf2onnx.optimizer.optimize_graph
    tf2onnx.optimizer.optimize_graph = lambda graph, *args, **options: optimize(graph, True, some)
    try:
        return tf2onnx.convert.from_function(function, input_signature=signature, opset=opset)[0]
    finally:
        tf2onnx.optimizer.optimize_graph = optimize


class Markers:
    def __init__(self):
        self.layers = []

    def mark(self, layer, x):
        if not any(layer is other for other in self.layers):
            self.layers.append(layer)
        number = next(i for i, other in enumerate(self.layers) if layer is other)
        return tf.maximum(x, tf.constant(LOWEST * (1 + number / 1024), x.dtype))

    def find(self, value):
        number = round((float(value) / LOWEST - 1) * 1024)
        exact = 0 <= number < len(self.layers) and np.float32(LOWEST * (1 + number / 1024)) == np.float32(value)
        return self.layers[number] if exact else None


def make_nodes(layer, x, y, rank):
    """What a marker stands for, as nodes from value `x` to value `y`, and their initializers."""
    name = layer.name
    if isinstance(layer, keras.layers.Dropout):
        rate = numpy_helper.from_array(np.float32(layer.rate), f"{name}/rate")
        return [helper.make_node("Dropout", [x, rate.name], [y], name=name)], [rate]
    size = layer.moving_mean.shape[0]
    parts = {"gamma": layer.gamma if layer.scale else np.ones(size), "beta": layer.beta if layer.center else np.zeros(size),
             "moving_mean": layer.moving_mean, "moving_variance": layer.moving_variance}
    parts = [numpy_helper.from_array(np.asarray(v, np.float32), f"{name}/{part}") for part, v in parts.items()]
    axis = layer.axis % rank
    if axis == 1:
        return [helper.make_node("BatchNormalization", [x, *(p.name for p in parts)], [y], name=name, epsilon=layer.epsilon,
                                 momentum=layer.momentum)], parts
    to = [0, axis, *(d for d in range(1, rank) if d != axis)]
    back = [to.index(d) for d in range(rank)]
    return [helper.make_node("Transpose", [x], [y + "/first"], name=name + "/first", perm=to),
            helper.make_node("BatchNormalization", [y + "/first", *(p.name for p in parts)], [y + "/normal"], name=name,
                             epsilon=layer.epsilon, momentum=layer.momentum),
            helper.make_node("Transpose", [y + "/normal"], [y], name=name + "/last", perm=back)], parts


def replace_markers(model, markers):
    constants = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    ranks = {v.name: len(v.type.tensor_type.shape.dim)
             for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    ranks.update({v.name: len(v.type.tensor_type.shape.dim) for v in model.graph.input})
    nodes, replaced = [], set()
    for node in model.graph.node:
        layer = None
        if node.op_type == "Max" and len(node.input) == 2:
            for x, number in (node.input, reversed(node.input)):
                if number in constants and constants[number].size == 1:
                    layer = markers.find(constants[number].reshape(-1)[0])
                    if layer is not None:
                        break
        if layer is None:
            nodes.append(node)
            continue
        if not isinstance(layer, keras.layers.Dropout) and x not in ranks:
            raise SystemExit(f"error: the number of dims of the input of '{layer.name}' is unknown")
        new, initializers = make_nodes(layer, x, node.output[0], ranks.get(x))
        nodes += new
        if layer.name not in replaced:
            model.graph.initializer.extend(initializers)
        replaced.add(layer.name)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for initializer in [w for w in model.graph.initializer if w.name not in used]:
        model.graph.initializer.remove(initializer)
    lost = [layer.name for layer in markers.layers if layer.name not in replaced]
    if lost:
        raise SystemExit(f"error: the exporter lost layers: {', '.join(lost)}")


def export(model, path, opset=17):
    """Writes `model`, with the values that its weights have now."""
    inputs = [np.random.default_rng(0).uniform(0, 1, [2 if d is None else d for d in x.shape]).astype(x.dtype)
              for x in model.inputs]
    wanted = [np.asarray(y) for y in tf.nest.flatten(model(inputs[0] if len(inputs) == 1 else inputs, training=False))]
    stamps, markers = Stamps(), Markers()
    own = [w.numpy() for w in model.weights]
    kinds = (keras.layers.Dropout, keras.layers.BatchNormalization)
    calls = [kind.call for kind in kinds]
    signature = [tf.TensorSpec([None, *x.shape[1:]], x.dtype, name=x.name) for x in model.inputs]
    try:
        for weight in model.weights:
            if weight.dtype == "float32":
                weight.assign(stamps.stamp(weight.path, weight.numpy()))
        for kind in kinds:
            kind.call = lambda layer, x, *_, **__: markers.mark(layer, x)
        function = tf.function(lambda *x: model(x[0] if len(x) == 1 else list(x), training=False), input_signature=signature)
        proto = convert(function, signature, opset)
    finally:
        for kind, call in zip(kinds, calls):
            kind.call = call
        for weight, value in zip(model.weights, own):
            weight.assign(value)
    lost = stamps.restore(proto)
    replace_markers(proto, markers)
    normal = {w.path for layer in markers.layers for w in layer.weights}
    seeds = [name for name in lost if name not in normal and "seed_generator" not in name]
    if seeds:
        raise SystemExit(f"error: the exporter lost weights: {', '.join(seeds)}")
    proto.producer_name = "keras_to_onnx"
    onnx.checker.check_model(proto, full_check=True)
    compare(proto, inputs, wanted)
    onnx.save(proto, path)
    print(f"{path}: {len(proto.graph.initializer)} initializers, {len(proto.graph.node)} nodes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    export(keras.models.load_model(sys.argv[1]), sys.argv[2])
