#!/usr/bin/env python3
"""Fuzzes single passes and pipelines of dist-opt.

What the lit tests feed to dist-opt is the corpus: each of their inputs is
changed at random (lines, types, numbers, names, attributes) and run through the
passes of any test or through passes in random order. An error message is a good
answer; a crash, a failed assertion, a sanitizer's report or a run without end
is not. Equal seeds give equal runs.

  passes.py --dist-opt build-asan/bin/dist-opt --seconds 60 --output build-asan/fuzz/passes
"""
import argparse
import glob
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What a handler of fatal errors says is a crash, too: ordinary errors have a place.
CRASH = re.compile(r"(?m)^dist-opt: error: (?!cannot write|out of memory)|Assertion .* failed|AddressSanitizer|runtime error:|LLVM ERROR|UNREACHABLE|terminate called|PLEASE submit a bug")
# Sizes where arithmetic and limits have their edges.
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 1000, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, -1]
TYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64"]
BATCH = 24  # inputs that one process reads


def read_corpus():
    """The inputs of all tests, and the lists of passes that they run."""
    inputs, pipelines = [], []
    for path in sorted(glob.glob(os.path.join(TOP, "test/**/*.mlir"), recursive=True)):
        text = open(path).read()
        for line in re.findall(r"// *RUN:.*?dist-opt (?:%s|-) *(.*)", text):
            try:
                words = shlex.split(line.split(" | ")[0].split(" 2>")[0].split(" > ")[0])
            except ValueError:
                continue
            # The tests' own passes trust what the tests give them.
            words = [word for word in words if word.startswith("-") and not re.match(r"-+(split-input|verify|mlir-print|o$|debug|emit|test-)", word)]
            if words and not any("%" in word for word in words) and words not in pipelines:
                pipelines.append(words)
        for part in re.split(r"^// -----.*$", text, flags=re.M):
            lines = [line for line in part.splitlines() if line.strip() and not re.match(r"\s*//", line)]
            if 2 < len(lines) < 120:
                inputs.append("\n".join(lines) + "\n")
    return inputs, pipelines


def read_passes():
    """Each pass of ours with its options: (name, [(option, type, default)])."""
    passes = []
    for path in sorted(glob.glob(os.path.join(TOP, "passes/*/Passes.td"))):
        for name, body in re.findall(r"def \w+\s*:\s*(?:Interface)?Pass<\s*\"([\w-]+)\"(.*?)(?=\ndef |\Z)", open(path).read(), flags=re.S):
            options = re.findall(r"(?:List)?Option<\s*\"\w+\",\s*\"([\w-]+)\",\s*\"([^\"]+)\"(?:,\s*\"((?:[^\"\\]|\\.)*)\")?", body)
            passes.append((name, options))
    return passes


class Mutator:
    def __init__(self, source):
        self.random, (self.inputs, self.pipelines), self.passes = source, read_corpus(), read_passes()
        self.words = sorted({word for text in self.inputs for word in re.findall(r"\b(?:graph|dist|rt|linalg|arith)\.[a-z_]+", text)})
        self.attributes = sorted({item for text in self.inputs for item in re.findall(r"\b[a-z_.]+ = [^,{}\[\]<>()\n]+", text)})

    def option(self, name, kind, default):
        pick = self.random.choice
        if kind == "bool":
            return f"{name}={pick(['true', 'false'])}"
        if "int" in kind or "unsigned" in kind:
            return f"{name}={pick(NUMBERS)}"
        if kind in ("double", "float"):
            return f"{name}={pick(['0', '1', '-1', 'nan', 'inf', '1e300', '0.5'])}"
        return f"{name}={pick(['x', 'data:2', 'model:2', 'data', 'model', 'w=0:model', '.*', '0', '-1', 'a,b', (default or 'x').strip(chr(92) + chr(34)) or 'x'])}"

    def run(self):
        """The arguments of one run."""
        if self.random.random() < 0.5:
            return list(self.random.choice(self.pipelines))
        words = []
        for name, options in self.random.sample(self.passes, self.random.choice([1, 1, 1, 2, 3])):
            some = [self.option(*option) for option in options if self.random.random() < 0.3]
            words.append(f"--{name}" + ("=" + " ".join(some) if some else ""))
        return words

    def mutate(self, text):
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            text = self.random.choice([self.number, self.number, self.type, self.word, self.value, self.line, self.attribute, self.drop, self.swap, self.branch])(text)
        # MLIR's own parser makes a list as long as the number of a result that is used.
        return re.sub(r"#\d{7,}", "#1", text)

    def replace(self, text, pattern, new):
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        match = self.random.choice(found)
        old = match.group(0)
        # One place, or all of them: types must often change together.
        if self.random.random() < 0.5:
            return text.replace(old, new(old))
        return text[: match.start()] + new(old) + text[match.end() :]

    def number(self, text):
        return self.replace(text, r"(?<![%#\w])\d+", lambda old: str(self.random.choice(NUMBERS + [int(old) + 1, int(old) * 2])))

    def type(self, text):
        return self.replace(text, r"\b(?:f32|f64|f16|bf16|i1|i8|i32|i64)\b", lambda _: self.random.choice(TYPES))

    def word(self, text):
        return self.replace(text, r"\b(?:graph|dist|rt)\.[a-z_]+", lambda _: self.random.choice(self.words))

    def value(self, text):
        values = re.findall(r"%\w+", text)
        return self.replace(text, r"%\w+", lambda old: self.random.choice(values or [old]))

    def attribute(self, text):
        return self.replace(text, r"\b[a-z_.]+ = [^,{}\[\]<>()\n]+", lambda _: self.random.choice(self.attributes))

    def drop(self, text):
        return self.replace(text, r"\{[^{}\n]*\}|<\[[^\n]*?\]>|, [a-z_.]+ = [^,{}\n]+|attributes ", lambda _: "")

    def line(self, text):
        lines = text.splitlines()
        at = self.random.randrange(len(lines))
        if self.random.random() < 0.5:
            del lines[at]
        else:
            lines.insert(self.random.randrange(len(lines) + 1), lines[at])
        return "\n".join(lines) + "\n"

    def branch(self, text):
        """Two blocks in place of one."""
        lines = text.splitlines()
        places = [i for i, line in enumerate(lines) if re.match(r"  (%|return)", line)]
        if places:
            lines.insert(self.random.choice(places), "  cf.br ^bb1\n^bb1:")
        return "\n".join(lines) + "\n"

    def swap(self, text):
        lines = text.splitlines()
        a, b = (self.random.randrange(len(lines)) for _ in range(2))
        lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines) + "\n"


def run(tool, words, text, seconds):
    """The crash's kind and text, or None."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not os.environ.get("ASAN_OPTIONS"):  # sanitizers reserve terabytes
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    process = subprocess.Popen([tool, "-", "--split-input-file", "--mlir-disable-threading", *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
    try:
        errors = process.communicate(text.encode(), timeout=seconds)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "no end", ""
    found = CRASH.search(errors)
    if process.returncode < 0 or found:
        frames = re.findall(r"(?:mlir::dist|\(anonymous namespace\)|dist)::[\w:~<>() ]+", errors)
        line = next((l for l in errors.splitlines() if CRASH.search(l) and "PLEASE" not in l), "")
        return line.strip()[:200] or f"signal {-process.returncode} {frames[:1]}", errors
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist-opt", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=0, help="so many runs instead of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default=".", help="a folder for what crashes")
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    mutator = Mutator(random.Random(options.seed))
    begin, runs, inputs, crashes = time.time(), 0, 0, {}
    while runs < options.runs if options.runs else time.time() < begin + options.seconds:
        runs += 1
        words = mutator.run()
        texts = [mutator.mutate(mutator.random.choice(mutator.inputs)) for _ in range(BATCH)]
        inputs += len(texts)
        if not run(options.dist_opt, words, "\n// -----\n".join(texts), 120):
            continue
        for text in texts:
            found = run(options.dist_opt, words, text, 20)
            if not found or found[0] in crashes:
                continue
            path = os.path.join(options.output, f"crash-{options.seed}-{len(crashes)}.mlir")
            crashes[found[0]] = path
            with open(path, "w") as file:
                file.write("// RUN: dist-opt %s " + " ".join(shlex.quote(word) for word in words) + "\n" + text)
            with open(path + ".log", "w") as file:
                file.write(found[1])
            print(f"{path}: {found[0]}\n  {' '.join(words)}", flush=True)
    print(f"{runs} runs, {inputs} inputs, {len(crashes)} kinds of crash")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
