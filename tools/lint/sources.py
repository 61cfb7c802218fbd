"""What the lint scripts share: the tracked files, and how findings are reported."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tracked(*suffixes):
    """Tracked and new files (not ignored) with one of the suffixes, relative to the top."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, check=True, capture_output=True, text=True)
    names = sorted(set(out.stdout.splitlines()))
    return [n for n in names if n.endswith(suffixes) and os.path.isfile(os.path.join(TOP, n))]


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def report(what, findings, checked):
    for finding in findings:
        print(finding)
    print(f"{what}: {checked} files, {len(findings)} findings")
    sys.exit(bool(findings))
