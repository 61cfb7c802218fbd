"""The node cases that the onnx package's own backend tests are made of.

node_cases.py write FOLDER      writes them, unless the folder is there (needs onnx)
node_cases.py share MINIMUM LOG  says which share of evaluate-onnx' log passed; exit 1 below MINIMUM
"""
import os
import re
import sys


def write(folder):
    if os.path.isdir(folder):
        return
    import onnx
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    unfinished = folder + ".part"
    for case in collect_testcases(None):
        data = f"{unfinished}/{case.name}/test_data_set_0"
        os.makedirs(data, exist_ok=True)
        onnx.save(case.model, f"{unfinished}/{case.name}/model.onnx")
        for kind, arrays, infos in (("input", case.data_sets[0][0], case.model.graph.input),
                                    ("output", case.data_sets[0][1], case.model.graph.output)):
            for i, (array, info) in enumerate(zip(arrays, infos)):
                if info.type.WhichOneof("value") != "tensor_type":
                    continue
                tensor = array if isinstance(array, TensorProto) else numpy_helper.from_array(array, info.name)
                with open(f"{data}/{kind}_{i}.pb", "wb") as file:
                    file.write(tensor.SerializeToString())
    os.rename(unfinished, folder)


def share(minimum, log):
    counts = {word: int(n) for word, n in re.findall(r"^total (\w+) (\d+)$", open(log).read(), re.M)}
    result = counts.get("pass", 0) / max(1, sum(counts.values()))
    print(f"share {result:.3f} of {sum(counts.values())}")
    sys.exit(result < float(minimum))


if __name__ == "__main__":
    {"write": write, "share": share}[sys.argv[1]](*sys.argv[2:])
