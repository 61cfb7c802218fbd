"""Writes models with batch norms as exporters leave them: batch_norms.py NAME FILE. Needs no package."""
import sys

from models import model, node, tensor, value

FOUR = ("scale", "bias", "mean", "variance")
EACH = {"scale": 1.0, "bias": 0.0, "mean": 0.0, "variance": 1.0, "ones": 1.0, "zeros": 0.0}


def norms(*nodes, channels=2, outputs=("",), opset=17, results=(), stored=None, before=(), after=(), **attributes):
    """A chain of batch norms, of which each reads the four that are given, and a layer. `outputs`: of
    each norm, behind the first."""
    names = [f"h{i}" for i in range(len(nodes))]
    stored = sorted({name for four in nodes for name in four}) if stored is None else stored
    size = 4 * channels
    return model(
        *before,
        *(node("BatchNormalization", [names[i - 1] if i else "first" if before else "x", *four],
               [names[i], *(out and out + str(i) for out in outputs)], f"bn{i}", **attributes)
          for i, four in enumerate(nodes)),
        *after,
        node("Flatten", ["last" if after else names[-1]], ["f"], "flat"), node("Gemm", ["f", "w", "b"], ["y"], "fc"),
        *(tensor(name, [channels], [EACH[name.rstrip("0123456789")]] * channels) for name in stored),
        tensor("w", [size, 2], [(7 * i % 11 - 5) / 10 for i in range(2 * size)]), tensor("b", [2], [0.1, 0.2]),
        value(11, "x", ["n", channels, 2, 2]), value(12, "y", ["n", 2]),
        *(value(12, name, [channels]) for name in results), opset=opset)


def own(i):
    return [name + str(i) for name in FOUR]


MODELS = {
    "inference": lambda: norms(FOUR),
    "training": lambda: norms(FOUR, outputs=["m", "v"], training_mode=1),
    "training-old": lambda: norms(FOUR, opset=6),
    "training-five": lambda: norms(FOUR, outputs=["m", "v", "sm", "sv"], opset=11),
    "read": lambda: norms(FOUR, outputs=["m", "v"], results=["m0"], training_mode=1),
    "read-five": lambda: norms(FOUR, outputs=["m", "v", "sm", "sv"], results=["v0"], opset=11),
    "one-channel": lambda: norms(FOUR, channels=1),
    "half": lambda: norms(FOUR, before=[node("Cast", ["x"], ["first"], to=10)],
                          after=[node("Cast", ["h0"], ["last"], to=1)]),
    # Zeros and ones that an exporter found equal: within a norm, of the statistics alone, of whole norms.
    "tied": lambda: norms(("ones", "zeros", "zeros", "ones")),
    "tied-statistics": lambda: norms(("scale0", "bias0", "mean", "variance"), ("scale1", "bias1", "mean", "variance")),
    "tied-norms": lambda: norms(*[("ones", "zeros", "zeros", "ones")] * 2),
    "tied-names": lambda: norms(("ones", "zeros", "val_1", "val_2"), stored=["ones", "zeros"],
                                before=[node("Identity", ["zeros"], ["val_1"]), node("Identity", ["ones"], ["val_2"]),
                                        node("Identity", ["x"], ["first"])]),
    # One layer in two places.
    "layer": lambda: norms(own(1), own(1)),
    # Statistics of layers of one kind, stacked.
    "stacked": lambda: norms(("scale", "bias", "m", "variance"), stored=["scale", "bias", "variance"], before=[
        node("Slice", ["stack", "zero", "two", "zero"], ["m"]), node("Identity", ["x"], ["first"]),
        tensor("stack", [4], [0.0, 0.0, 0.1, 0.1]), tensor("zero", [1], [0], "q"), tensor("two", [1], [2], "q")]),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]]())
