"""Exports a model so that every weight can be found again in the file.

Exporters simplify: zero biases vanish, equal initializers become one, weights are
transposed and renamed, and one that is read twice becomes two. So each weight is
exported with numbers that occur nowhere else, which nothing simplifies, and
afterwards every initializer is given the weight's own values and name. What is made
of no weight (preprocessing, tables, frozen layers) becomes a Constant node, which
nothing trains. Used by keras_to_onnx.py and pytorch_to_onnx.py.
"""
import itertools

import numpy as np
import onnx
from onnx import helper, numpy_helper

# Floats by their bit patterns, one after another from 22.98 on: all different,
# positive and finite for up to 10^9 elements.
FIRST = 0x41B7E3A1


class Stamps:
    """The numbers that stand for weights while a model is exported."""

    def __init__(self):
        self.next = FIRST
        self.weights = []  # name, own values, first pattern
        self.made = set()  # names of what `restore` made of weights

    def stamp(self, name, values):
        """Numbers of the same shape, to be exported instead of `values` (float32)."""
        values = np.asarray(values, np.float32)
        first, self.next = self.next, self.next + values.size
        self.weights.append((name, values, first))
        return np.arange(first, first + values.size, dtype=np.int32).view(np.float32).reshape(values.shape)

    def restore(self, model):
        """Gives the file's initializers their weights' values and names; says which weights the file lacks."""
        found = {}  # weight -> what is made of it: initializer, which element stands where
        own = np.concatenate([values.reshape(-1) for _, values, _ in self.weights] or [np.zeros(0, np.float32)])
        taken, joined = {w.name for w in model.graph.initializer}, set()
        for initializer in list(model.graph.initializer):
            if initializer.data_type != onnx.TensorProto.FLOAT:
                continue
            array, name = numpy_helper.to_array(initializer), initializer.name
            owners, stamped, patterns = self._read(array)
            if not owners and (array < 0).all():
                owners, stamped, patterns = self._read(-array)
                if owners:
                    negate(model, initializer)
            if not owners:
                continue  # numbers of the model's own
            # Whatever the exporter moved: each number says which element it
            # stands for. Zeros are what it put beside them.
            elements = patterns[stamped] - FIRST
            if (array[~stamped] != 0).any() or len(owners) > 1 and np.unique(elements).size < elements.size:
                raise SystemExit(f"error: initializer '{name}' mixes weights; the exporter computed with "
                                 f"'{self.weights[owners[0]][0]}'")
            new = np.zeros(array.shape, np.float32)
            new[stamped] = own[elements]
            initializer.CopyFrom(numpy_helper.from_array(new, initializer.name))
            order = np.where(stamped, patterns, 0)
            for owner in owners:
                found.setdefault(owner, []).append((initializer.name, order))
            if len(owners) > 1:
                joined.update(owners)
                together = "+".join(self.weights[owner][0] for owner in owners)
                rename(model, initializer.name, together)
                self.made.add(together)
        for owner, uses in found.items():
            name, values, first = self.weights[owner]
            if owner in joined:
                if len(uses) > 1:
                    raise SystemExit(f"error: the exporter put '{name}' together with others, and apart from them")
                continue
            self.made.add(self._join(model, name, values, first, uses, taken))
        return [name for i, (name, values, _) in enumerate(self.weights) if i not in found and values.size]

    def _read(self, array):
        """Which weights an array is made of, where it is, and its bits; numbers that are stamps by chance are none."""
        patterns = np.ascontiguousarray(array).view(np.int32).reshape(array.shape)
        stamped = (FIRST <= patterns) & (patterns < self.next)
        if not stamped.any():
            return [], stamped, patterns
        firsts = np.array([first for _, _, first in self.weights])
        elements = np.unique(patterns[stamped])
        places = np.searchsorted(firsts, elements, side="right") - 1
        owners = list(np.unique(places))

        def is_part(owner):
            """Of a weight there are all elements, or those of some rows and columns."""
            _, values, first = self.weights[owner]
            some = elements[places == owner] - first
            sides = [np.unique(at).size for at in np.unravel_index(some, values.shape)] if values.ndim else []
            return some.size == values.size or some.size > 1 and np.prod(sides, dtype=np.int64) == some.size
        return owners if all(is_part(owner) for owner in owners) else [], stamped, patterns

    @staticmethod
    def _join(model, name, values, first, uses, taken):
        """Makes all uses of a weight one initializer, from which nodes make its other forms."""
        forms = []
        for use, order in uses:
            same = next((form for form, known in forms if known.shape == order.shape and (known == order).all()), None)
            if same is None:
                forms.append((use, order))
            else:
                redirect(model, use, same)
        if len(forms) == 1:
            if name in taken:
                return forms[0][0]
            rename(model, forms[0][0], name)
            return name
        while name in taken:
            name += "/own"
        model.graph.initializer.append(numpy_helper.from_array(values, name))
        for use, order in forms:
            make_form(model, name, values.shape, use, order - first)
        return name


def negate(model, initializer):
    """What reads an initializer reads it with the other sign, which a node makes."""
    name = initializer.name
    initializer.name = name + "/negative"
    model.graph.node.insert(0, helper.make_node("Neg", [initializer.name], [name], name=name + "/sign"))


def make_form(model, name, shape, use, order):
    """Nodes in front that make value `use` of initializer `name`: the element `order` says at each place."""
    remove(model, use)
    elements = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    for axes in itertools.permutations(range(len(shape))):
        moved = elements.transpose(axes)
        if order.size == moved.size and (moved.reshape(-1) == order.reshape(-1)).all():
            nodes = [helper.make_node("Transpose", [name], [use + "/moved"], name=use + "/move", perm=axes),
                     helper.make_node("Reshape", [use + "/moved", use + "/shape"], [use], name=use + "/form")]
            break
    else:
        if order.min() < 0:
            raise SystemExit(f"error: the exporter put zeros beside '{name}' in one place, and not in another")
        nodes = [make_constant(np.array([-1]), use + "/all"), make_constant(order.reshape(-1).astype(np.int64), use + "/order"),
                 helper.make_node("Reshape", [name, use + "/all"], [use + "/flat"], name=use + "/row"),
                 helper.make_node("Gather", [use + "/flat", use + "/order"], [use + "/moved"], name=use + "/move"),
                 helper.make_node("Reshape", [use + "/moved", use + "/shape"], [use], name=use + "/form")]
    for node in reversed([make_constant(np.array(order.shape, np.int64), use + "/shape"), *nodes]):
        model.graph.node.insert(0, node)


def make_constant(array, name):
    return helper.make_node("Constant", [], [name], name=name + "/constant", value=numpy_helper.from_array(array, name))


def keep_constant(model, weights):
    """Makes nodes of floats that are none of `weights`: an initializer would be trained wherever a parameter may be."""
    # Whatever the source trains, moving statistics are moved.
    kept = weights | {name for node in model.graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}
    for initializer in list(model.graph.initializer):
        if initializer.data_type == onnx.TensorProto.FLOAT and initializer.name not in kept:
            model.graph.node.insert(0, make_constant(numpy_helper.to_array(initializer), initializer.name))
            model.graph.initializer.remove(initializer)
    # dist-run need not guess then.
    model.graph.metadata_props.add(key="dist.initializers", value="weights")


def remove(model, name):
    for initializer in [w for w in model.graph.initializer if w.name == name]:
        model.graph.initializer.remove(initializer)


def redirect(model, old, new):
    """Who reads initializer `old` reads `new`."""
    remove(model, old)
    read(model, old, new)


def rename(model, old, new):
    for initializer in model.graph.initializer:
        if initializer.name == old:
            initializer.name = new
    read(model, old, new)


def read(model, old, new):
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
