# How the lit tests run: tools on PATH, features, substitutions.
import os
import platform
import shutil
import subprocess
import sys
import lit.formats

config.name = "dist-mlir"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "lit.cfg.py", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.dist_binary_dir, "test")

# A test that hangs ends; lit finds its processes by psutil.
supported, why = lit_config.maxIndividualTestTimeIsSupported
if supported:
    lit_config.maxIndividualTestTime = config.dist_test_seconds
else:
    lit_config.note(f"tests may take as long as they like: {why} (apt package python3-psutil)")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.dist_binary_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
)
for name in ("HOME", "DIST_TEST_DATA", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

data = os.environ.get("DIST_TEST_DATA", os.path.join(config.dist_source_dir, "..", "shared", "data"))
if os.path.isdir(os.path.join(data, "mnist")):
    config.available_features.add("test-data")
checks = os.environ.get("DIST_TEST_CHECKS", os.path.join(os.path.dirname(data), "checks"))
own_build = os.path.basename(config.dist_binary_dir) == "build"  # else they would run another build's tools
if own_build and "test-data" in config.available_features and os.path.isfile(os.path.join(checks, "parity.py")):
    config.available_features.add("keras-cases")
# Node cases of the onnx package: written before, or by a Python that has it.
cases = os.environ.get("DIST_ONNX_CASES")
if cases and not os.path.isdir(cases):
    lit_config.fatal(f"DIST_ONNX_CASES is no folder: {cases}")
if cases or subprocess.run([shutil.which("python3") or "python3", "-c", "import onnx"], capture_output=True).returncode == 0:
    config.available_features.add("onnx-cases")
else:
    lit_config.note("the ONNX node suite is skipped: set DIST_ONNX_CASES to a folder of cases, or pip install onnx")
config.substitutions.append(("%onnx_cases", os.path.abspath(cases or os.path.join(config.test_exec_root, "onnx-node-cases"))))
# Pythons of virtual environments that have a framework and what exports from it.
for name, modules in (("keras", "tensorflow, tf2onnx, onnx"), ("pytorch", "torch, onnx")):
    python = os.environ.get(f"DIST_{name.upper()}_PYTHON")
    if not python:
        continue
    if subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode:
        lit_config.fatal(f"DIST_{name.upper()}_PYTHON: {python} lacks one of {modules}")
    config.available_features.add(name)
    config.substitutions.append((f"%{name}_python", python))
# What the checks run is build/bin below this folder.
config.substitutions.append(("%project", os.path.dirname(config.dist_binary_dir)))
config.substitutions.append(("%checks", os.path.abspath(checks)))
config.substitutions.append(("%data", os.path.abspath(data)))
config.substitutions.append(("%examples", os.path.join(config.dist_source_dir, "examples")))
config.substitutions.append(("%python", shutil.which("python3") or "python3"))

# Products of bf16 on tile registers, where the library may use them.
if os.path.exists("/proc/cpuinfo") and "ONEDNN_MAX_CPU_ISA" not in os.environ:
    with open("/proc/cpuinfo") as info:
        flags = info.read()
    if "amx_bf16" in flags:
        config.available_features.add("tiles")
    if "avx512bw" in flags:  # from there on the library packs what it multiplies by
        config.available_features.add("avx512")

# CPUs that code is generated for by name.
if platform.machine() == "x86_64":
    config.available_features.add("x86")

# A mount of its own, for what a full disk does.
if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
    config.available_features.add("mounts")

# Networks of its own, for several machines in one.
if subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "e2e", "Inputs", "hosts.py")], capture_output=True).returncode == 0:
    config.available_features.add("hosts")

if shutil.which("openssl"):
    config.available_features.add("openssl")
if shutil.which("etcd"):
    config.available_features.add("etcd")

# `lit -D verify-roundtrip`: every dist-opt run also round-trips its output.
if lit_config.params.get("verify-roundtrip"):
    config.substitutions.append(("dist-opt", "dist-opt --verify-roundtrip"))
