#!/usr/bin/env python3
"""Writes a Keras model as an ONNX file that can be trained: keras_to_onnx.py MODEL.keras MODEL.onnx

tf2onnx writes models for inference: it drops zero biases, folds batch norm into
convolutions and removes dropout, so that another model would be trained. Here
every weight is kept under its name, BatchNormalization and Dropout are nodes, and
what is not trained (frozen layers, preprocessing) is constant. Needs tensorflow,
tf2onnx and onnx; with onnxruntime the file is compared with the model.
"""
import contextlib
import sys

import keras
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
import tf2onnx.optimizer
from onnx import helper, numpy_helper

from weights import Stamps, compare, keep_constant

# Layers that have to survive are exported as the maximum with a number of their
# own, so low that nothing is below it and that no simplification knows it.
LOWEST = -1e38


# Those of tf2onnx's simplifications that move or merge what is marked.
LEFT_OUT = {"optimize_transpose", "remove_back_to_back", "merge_duplication"}


def make_erfc(context, node, *_):
    """As `gelu` has it: 1 - erf(x), for which ONNX has no op."""
    one = context.make_const(node.name + "/one", np.ones((), np.float32)).output[0]
    node.type = "Erf"
    rest = context.make_node("Sub", [one, node.output[0]]).output[0]
    context.replace_all_inputs(node.output[0], rest, ops=[n for n in context.get_nodes() if n.output[0] != rest])


def convert(function, signature, opset):
    """As tf2onnx does, without what is left out."""
    every = tf2onnx.optimizer._get_optimizers()
    some = type(every)((name, make) for name, make in every.items() if name not in LEFT_OUT)
    optimize = tf2onnx.optimizer.optimize_graph
    tf2onnx.optimizer.optimize_graph = lambda graph, *args, **options: optimize(graph, True, some)
    try:
        return tf2onnx.convert.from_function(function, input_signature=signature, opset=opset,
                                             custom_op_handlers={"Erfc": (make_erfc, [])})[0]
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


def make_nodes(layer, x, y, rank, use):
    """What a marker stands for, as nodes from value `x` to value `y`, and their initializers.

    `use`: how often the layer was used before.
    """
    name = layer.name
    node = f"{name}/{use}" if use else name
    if isinstance(layer, keras.layers.Dropout):
        rate = numpy_helper.from_array(np.float32(layer.rate), f"{name}/rate")
        return [helper.make_node("Dropout", [x, rate.name], [y], name=node)], [rate]
    size = layer.moving_mean.shape[0]
    parts = {"gamma": layer.gamma if layer.scale else np.ones(size), "beta": layer.beta if layer.center else np.zeros(size),
             "moving_mean": layer.moving_mean, "moving_variance": layer.moving_variance}
    parts = [numpy_helper.from_array(np.asarray(v, np.float32), f"{name}/{part}") for part, v in parts.items()]
    axis = layer.axis % rank
    if axis == 1:
        return [helper.make_node("BatchNormalization", [x, *(p.name for p in parts)], [y], name=node, epsilon=layer.epsilon,
                                 momentum=layer.momentum)], parts
    to = [0, axis, *(d for d in range(1, rank) if d != axis)]
    back = [to.index(d) for d in range(rank)]
    return [helper.make_node("Transpose", [x], [y + "/first"], name=node + "/first", perm=to),
            helper.make_node("BatchNormalization", [y + "/first", *(p.name for p in parts)], [y + "/normal"], name=node,
                             epsilon=layer.epsilon, momentum=layer.momentum),
            helper.make_node("Transpose", [y + "/normal"], [y], name=node + "/last", perm=back)], parts


def replace_markers(model, markers):
    """Returns the names of the weights that it adds."""
    constants = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    ranks = {v.name: len(v.type.tensor_type.shape.dim)
             for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    ranks.update({v.name: len(v.type.tensor_type.shape.dim) for v in model.graph.input})
    nodes, replaced, weights = [], {}, set()  # replaced: how often, by layer
    # Without others a batch norm has ones for its scale, and zeros for its shift.
    own = {f"{layer.name}/{w.name}" for layer in markers.layers for w in layer.weights}
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
        new, initializers = make_nodes(layer, x, node.output[0], ranks.get(x), replaced.get(layer.name, 0))
        nodes += new
        if layer.name not in replaced:
            model.graph.initializer.extend(initializers)
            weights.update(w.name for w in initializers if w.name in own)
        replaced[layer.name] = replaced.get(layer.name, 0) + 1
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for initializer in [w for w in model.graph.initializer if w.name not in used]:
        model.graph.initializer.remove(initializer)
    lost = [layer.name for layer in markers.layers if layer.name not in replaced]
    if lost:
        raise SystemExit(f"error: the exporter lost layers: {', '.join(lost)}")
    return weights


@contextlib.contextmanager
def layers_for_export(model, markers, unrolled):
    """Layers as they can be exported; `unrolled`: the kinds whose steps are written out."""
    kinds, undo = (keras.layers.Dropout, keras.layers.BatchNormalization), []

    def change(owner, name, value):
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def make_call(own, kind):
        # A frozen batch norm goes by its statistics in training, too.
        return lambda layer, x, *_, **__: (own(layer, x, training=False) if kind is kinds[1] and not layer.trainable
                                           else markers.mark(layer, x))
    try:
        for kind in kinds:
            change(kind, "call", make_call(kind.call, kind))
        # A function within the model, as a grouped convolution is compiled, would stay a call.
        change(tf, "function", lambda call=None, **_: call or (lambda inner: inner))
        for layer in model._flatten_layers():
            # A tensor that a layer keeps would become an input of the model.
            for name, value in list(vars(layer).items()):
                if isinstance(value, tf.Tensor):
                    change(layer, name, value.numpy())
            if isinstance(layer, keras.layers.RNN) and isinstance(layer, unrolled):
                change(layer, "unroll", True)
        yield
    finally:
        for owner, name, value in reversed(undo):
            setattr(owner, name, value)


# What training does beside what a file of ONNX says; kinds by their classes' names.
LOST = {"AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"}


def list_lost(model):
    for layer in model._flatten_layers():
        if type(layer).__name__ in LOST and getattr(layer, "rate", getattr(layer, "stddev", 1)):
            yield layer.name
        if getattr(layer, "recurrent_dropout", 0) or isinstance(layer, keras.layers.RNN) and getattr(layer, "dropout", 0):
            yield f"dropout of {layer.name}"
        for name, value in vars(layer).items():
            if isinstance(value, keras.regularizers.Regularizer):
                yield f"{name} of {layer.name}"
    if any(getattr(y, "_keras_mask", None) is not None for y in model.outputs):
        yield "the mask of an output, by which Keras leaves steps out of the loss"


def export(model, path, opset=17):
    """Writes `model`, with the values that its weights have now."""
    if not getattr(model, "inputs", None):
        raise SystemExit("error: a subclassed model does not say its inputs; export keras.Model(x, model(x)) "
                         "with x = keras.Input(SHAPE)")
    inputs = [make_example([2 if d is None else d for d in x.shape], x.dtype) for x in model.inputs]
    call = make_call(model)
    wanted = [np.asarray(y) for y in tf.nest.flatten(call(*inputs))]
    stamps, markers = Stamps(), Markers()
    trained = {id(weight) for weight in model.trainable_weights}
    own = [w.numpy() for w in model.weights]
    signature = [tf.TensorSpec([None, *x.shape[1:]], x.dtype, name=x.name) for x in model.inputs]

    def convert_by(unrolled):
        function = tf.function(call, input_signature=signature)
        with layers_for_export(model, markers, unrolled):
            return convert(function, signature, opset)
    try:
        for weight in model.weights:
            if weight.dtype == "float32" and id(weight) in trained:
                weight.assign(stamps.stamp(weight.path, weight.numpy()))
        # tf2onnx knows an LSTM; of others, and of one with a mask, it leaves a loop.
        proto = convert_by((keras.layers.GRU, keras.layers.SimpleRNN))
        if any(node.op_type == "Loop" for node in proto.graph.node):
            proto = convert_by((keras.layers.RNN,))
    finally:
        for weight, value in zip(model.weights, own):
            weight.assign(value)
    refuse_unknown(proto)
    name_outputs(model, proto)
    lost = stamps.restore(proto)
    normal = {w.path for layer in markers.layers for w in layer.weights}
    keep_constant(proto, stamps.made | replace_markers(proto, markers))
    lost = [name for name in lost if name not in normal]
    if lost:
        raise SystemExit(f"error: the exporter lost weights: {', '.join(lost)}")
    proto.producer_name = "keras_to_onnx"
    onnx.checker.check_model(proto, full_check=True)
    compare(proto, inputs, wanted)
    onnx.save(proto, path)
    print(f"{path}: {len(proto.graph.initializer)} initializers, {len(proto.graph.node)} nodes")
    frozen = [w.path for w in model.weights if id(w) not in trained and w.path not in normal and w.dtype == "float32"]
    if frozen:
        print(f"constants in the file, since they are not trainable: {', '.join(frozen)}")
    dropped = list(list_lost(model))
    if dropped:
        print(f"warning: not in the file, which trains without: {', '.join(dropped)}")


def make_call(model):
    """The model as a function of its inputs one by one, which it may take as a dict."""
    given = getattr(getattr(model, "_functional", None) or model, "_inputs_struct", None)

    def call(*x):
        return model(keras.tree.pack_sequence_as(given, list(x)) if given is not None else x[0] if len(x) == 1 else list(x),
                     training=False)
    return call


def name_outputs(model, proto):
    """Several outputs are told apart by the model's names of them, for losses and metrics."""
    given = getattr(model, "_outputs_struct", None)
    names = sorted(given) if isinstance(given, dict) else list(getattr(model, "output_names", []))
    taken = {name for node in proto.graph.node for name in [*node.input, *node.output]}
    outputs = [output.name for output in proto.graph.output]
    if not 1 < len(outputs) == len(set(names) - taken) == len(set(outputs)):
        return
    for output, name in zip(proto.graph.output, names):
        for node in proto.graph.node:
            for values in (node.input, node.output):
                for i, value in enumerate(values):
                    if value == output.name:
                        values[i] = name
        output.name = name


def make_example(shape, dtype):
    """Of integers those that any table has, and no row of zeros, which may be padding."""
    random = np.random.default_rng(0)
    if np.issubdtype(np.dtype(dtype), np.floating):
        return random.uniform(0, 1, shape).astype(dtype)
    example = random.integers(0, 2, shape).astype(dtype)
    if len(shape) > 1:
        example[:, 0] = 1
    return example


def refuse_unknown(proto):
    """tf2onnx leaves ops that it does not know as they are in TensorFlow."""
    for node in proto.graph.node:
        if node.domain == "" and not onnx.defs.has(node.op_type):
            raise SystemExit(f"error: tf2onnx has nothing in ONNX for {node.op_type} (node '{node.name}'); "
                             "take it out of the model, and apply it to the data")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    export(keras.models.load_model(sys.argv[1]), sys.argv[2])
