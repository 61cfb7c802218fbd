#!/usr/bin/env python3
"""Checks the allowed directions between folders, on #include lines and CMake links."""
import re

from sources import read, report, tracked

# folder -> what its sources may include of the project (longest prefix wins).
INTERFACES = ["dialects/Interfaces"]
IR = INTERFACES + ["dialects/Graph/IR", "dialects/Dist/IR", "dialects/Rt/IR"]
ALLOWED = {
    "dialects/Interfaces": INTERFACES,
    "dialects/Graph/IR": INTERFACES + ["dialects/Graph/IR"],
    "dialects/Graph/Import": INTERFACES + ["dialects/Graph", "runtime/formats"],
    "dialects/Dist/IR": INTERFACES + ["dialects/Dist/IR"],
    "dialects/Rt/IR": INTERFACES + ["dialects/Rt/IR", "runtime/abi"],
    "dialects/InitAllDialects.h": IR,
    "passes/InitAllPasses.h": ["passes"],
    "passes/Analysis": IR + ["passes/Analysis", "runtime/comm/schedule"],
    "passes/Graph": IR + ["passes/Analysis", "passes/Graph"],
    "passes/Strategy": IR + ["passes/Analysis", "passes/Strategy"],
    "passes/Partition": IR + ["passes/Analysis", "passes/Partition"],
    "passes/Workers": IR + ["passes/Workers"],
    "passes/Interchange": IR + ["passes/Interchange"],
    "passes/Lowering": IR + ["passes/Analysis", "passes/Lowering", "runtime/abi", "runtime/core", "runtime/formats",
                             "runtime/device/cpu", "runtime/comm/schedule", "runtime/comm/message"],
    "passes/Pipelines": IR + ["passes", "dialects/Graph/Import"],
    "runtime": ["runtime", "dist/"],
    "tools/options": ["tools/options", "runtime"],
    "tools/dist-run": ["tools/options", "tools/dist-run", "runtime", "dist/"],
    "tools/dist-opt": ["tools/options", "tools/dist-opt", "dialects", "passes", "runtime/formats", "runtime/export", "runtime/core",
                       "runtime/comm/schedule"],
    "examples": ["dist/"],
}
# Only these may include these outside headers.
OUTSIDE = [
    (r"(mlir|llvm)/", lambda n: not n.startswith(("runtime/", "tools/dist-run", "tools/options", "examples/"))),
    (r"(cuda|nccl|cudnn|cublas)", lambda n: n.startswith(("runtime/device/cuda", "runtime/comm/nccl"))),
    (r"runtime/formats/onnx\.pb\.h", lambda n: n.startswith(("dialects/Graph/Import", "runtime/export", "runtime/formats", "test/"))),
    (r"runtime/formats/tensorflow\.pb\.h", lambda n: n.startswith(("dialects/Graph/Import", "runtime/formats", "test/"))),
    (r"mpi\.h$", lambda n: n in ("runtime/comm/mpi/shim.cpp", "tools/bench/peer_mpi.c")),
    (r"uc[pst]/", lambda n: n.startswith("runtime/comm/ucx/")),
    (r"microhttpd", lambda n: n.startswith("runtime/cluster/status/")),
    (r"grpc|.*\.grpc\.pb\.h", lambda n: n.startswith("runtime/cluster/")),
    (r"dnnl|oneapi/dnnl", lambda n: n.startswith(("runtime/device/cpu", "tools/bench", "test/"))),
]

# Attributes of entries' arguments and results have one name each, in this file.
PORTS = "dialects/Interfaces/Ports.h"
PORT_NAMES = set(re.findall(r'"(graph\.\w+)"', read(PORTS)))

# Of devices the core knows runtime/device/*.h; threads of ranks are the host's, whatever they run.
HOST_THREADS = ["runtime/core/rank_threads.cpp", "runtime/core/thread_team.cpp"]

findings = []
files = [n for n in tracked(".cpp", ".h", ".c", ".td") if not n.startswith("test/")]
for name in files:
    folder = max((f for f in ALLOWED if name == f or name.startswith(f + "/")), key=len, default=None)
    lines = read(name).splitlines()
    for number, line in enumerate(lines, 1):
        for literal in re.findall(r'"(graph\.\w+)"', line.split("//")[0]) if name.endswith((".cpp", ".h")) and name != PORTS else []:
            if literal in PORT_NAMES:
                findings.append(f"{name}:{number}: \"{literal}\" has a name in {PORTS}")
        match = re.match(r'\s*(?:#include|include)\s+["<]([^">]+)[">]', line)
        if match:
            header = match.group(1)
            if folder and header.startswith(("dialects/", "passes/", "runtime/", "tools/", "test/")):
                if not any(header.startswith(a) for a in ALLOWED[folder]):
                    findings.append(f"{name}:{number}: {folder} may not include {header}")
            if name.startswith("runtime/core/") and re.match(r"runtime/device/\w+/", header) and name not in HOST_THREADS:
                findings.append(f"{name}:{number}: the core includes no device: {header}")
            for pattern, allowed in OUTSIDE:
                if re.match(pattern, header) and not allowed(name):
                    findings.append(f"{name}:{number}: {header} does not belong here")
        elif name.startswith(("dialects/", "passes/", "runtime/")):
            code = line.split("//")[0]
            for word in (r"(?<![\w.>:])_?exit\(", r"\bgetenv\(", r"\berrs\(\)", r"\bcl::opt\b",
                         r"(?<![\w.>])(?:std::)?(?:signal|sigaction)\("):
                if re.search(word, code):
                    findings.append(f"{name}:{number}: a library may not do this: {line.strip()}")
for name in tracked("CMakeLists.txt"):
    if name.startswith("runtime/") and re.search(r"\b(MLIR|LLVM|DistGraph\w*|DistLowering|DistIR)\b", read(name)):
        findings.append(f"{name}: the runtime links nothing of MLIR")
    if not name.startswith("runtime/cluster/") and "gRPC::" in read(name):
        findings.append(f"{name}: only runtime/cluster links gRPC")
    if not name.startswith("runtime/comm/ucx/") and "ucx::" in read(name):
        findings.append(f"{name}: only runtime/comm/ucx links UCX")
    if name.startswith("runtime/") and not name.startswith(("runtime/cluster/", "runtime/comm/ucx/")) and "DistRuntimeUcx" in read(name):
        findings.append(f"{name}: the runtime that apps embed has no UCX in it")
    if name.startswith("runtime/") and not name.startswith("runtime/cluster/") and re.search(r"\bDistEtcd\w*|\bDistCluster\w*", read(name)):
        findings.append(f"{name}: the runtime that apps embed has no cluster in it")
report("layers", findings, len(files))
