#!/usr/bin/env python3
"""Finds tests that cannot fail: dead FileCheck lines, lit files without a check, passes and ops without a test."""
import os
import re
import sys

from sources import read, report, tracked

KINDS = "NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\\d+"
findings = []
tests = [n for n in tracked(".mlir", ".test") if n.startswith("test/") and "/Inputs/" not in n]
corpus = ""
for name in tests:
    text = read(name)
    corpus += text
    if not re.search(r"RUN:", text):
        findings.append(f"{name}: no RUN line")
    prefixes = {p for group in re.findall(r"check-prefix(?:es)?[= ]([\w,-]+)", text) for p in group.split(",")} | {"CHECK"}
    for number, line in enumerate(text.splitlines(), 1):
        if "RUN:" in line:
            continue
        for prefix in prefixes:
            if re.match(rf"\s*(//|#)\s*{prefix}(-({KINDS}))?\s+\S", line):
                findings.append(f"{name}:{number}: a check without a colon: {line.strip()}")
            word = re.match(rf"\s*(?://|#)\s*({prefix}[-_][A-Z]+(?:-\d+)?)\S*:", line)
            if word and not re.fullmatch(rf"{prefix}-({KINDS})", word.group(1)) and not any(word.group(1).startswith(p) for p in prefixes - {prefix}):
                findings.append(f"{name}:{number}: unknown check {word.group(1)}")
        if re.search(r"expected-(?!error|warning|remark|note|no-diagnostics)\w+", line):
            findings.append(f"{name}:{number}: unknown expectation: {line.strip()}")
    if not re.search(r"FileCheck|verify-diagnostics|RUN:.*\b(diff|cmp|not|%python|grep)\b", text):
        findings.append(f"{name}: nothing is checked")

for name in tracked(".td"):
    text = read(name)
    for match in re.finditer(r'def \w+\s*:\s*(?:Interface)?Pass<"([\w-]+)"', text):
        if not re.search(re.escape(match.group(1)) + r"\b", corpus):
            findings.append(f"pass {match.group(1)} has no lit test")
    dialect = re.match(r"dialects/(\w+)/IR/", name)
    for match in re.finditer(r'^def \w+Op\s*:\s*\w+<"([\w.]+)"', text, re.M):
        op = f"{dialect.group(1).lower()}.{match.group(1)}" if dialect else None
        if op and not re.search(re.escape(op) + r"\b", corpus):
            findings.append(f"op {op} has no lit test")
# Each test ends, by itself or by its time limit, which dist_add_test sets.
for name in [n for n in tracked("CMakeLists.txt", ".cmake") if n.startswith(("test/", "tools/"))]:
    for number, line in enumerate(read(name).splitlines(), 1):
        if re.match(r"\s*add_test\(", line) and name != "tools/cmake/AddDist.cmake":
            findings.append(f"{name}:{number}: a test without a time limit; add it by dist_add_test")
# Each option of the tools is typed by a test, as users type it.
typed = "".join(line for line in corpus.splitlines(True) if "RUN:" in line)
rows = "".join(read(name) for name in tracked("rows.cpp") if name.startswith("tools/options/"))
for option in sorted(set(re.findall(r'table\.\w+\(\s*"(?:-\w,)?(--[a-z][\w-]*)"', rows))):
    if not re.search(re.escape(option) + r"(?![\w-])", typed):
        findings.append(f"option {option} is typed by no test")
# What `%python` runs has the standard library alone: a machine that has just been set
# up has no more.
ours = {os.path.basename(name)[:-3] for name in tracked(".py")}
for name in tests:
    for script in set(re.findall(r"%python %S/([\w/.]+\.py)", read(name))):
        path = os.path.normpath(os.path.join(os.path.dirname(name), script))
        for module in re.findall(r"^(?:import|from) (\w+)", read(path), re.M):
            if module not in sys.stdlib_module_names | ours:
                findings.append(f"{path}: {name} runs it where there may be no {module}")
    for module in re.findall(r"%python -c .*?\b(?:import|from) (\w+)", read(name)):
        if module not in sys.stdlib_module_names | ours:
            findings.append(f"{name}: there may be no {module}")
report("tests", findings, len(tests))
