#!/usr/bin/env python3
"""Checks that the generated documentation has every op, pass and interface: check_docs.py BUILD-FOLDER (after `ninja mlir-doc`)."""
import glob
import os
import re
import sys

from sources import read, report, tracked

build = sys.argv[1]
docs = ""
for name in glob.glob(os.path.join(build, "docs", "**", "*.md"), recursive=True):
    with open(name, encoding="utf-8") as f:
        docs += f.read()

findings, checked = [], 0
for name in tracked(".td"):
    dialect = re.match(r"dialects/(\w+)/IR/", name)
    text = read(name)
    wanted = [f"`{dialect.group(1).lower()}.{m}`" for m in re.findall(r'^def \w+Op\s*:\s*\w+<"([\w.]+)"', text, re.M)] if dialect else []
    wanted += [f"`-{m}`" for m in re.findall(r'def \w+\s*:\s*(?:Interface)?Pass<"([\w-]+)"', text)]
    wanted += [f"## {m.group(1)}" for m in re.finditer(r'^def \w+\s*:\s*OpInterface<"(\w+)"', text, re.M)]
    checked += len(wanted)
    findings += [f"{name}: {word} is in no generated page" for word in wanted if word not in docs]
report("docs", findings, checked)
