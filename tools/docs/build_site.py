#!/usr/bin/env python3
"""Makes the documentation as one site: build_site.py BUILD-FOLDER (what `ninja site` runs)

The guide, the generated pages of ops, passes and interfaces, strategies and
options as the tools print them, errors with their cures, and the C API. The
generator (MkDocs) is installed from the Python registry into BUILD/site-python;
Doxygen is a package of the system. A broken link is an error. The site is
BUILD/site/index.html.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

from list_errors import TOP, make_page

GENERATOR = "mkdocs==1.6.1"
REPOSITORY_FILES = re.compile(r"\]\((?!https?:|#)(?!\S+\.md[)#])[^)]+\)")


def run(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, text=True, **options)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def printed(title, intro, command):
    return f"# {title}\n\n{intro}\n\n```\n{run(*command, capture_output=True).stdout.rstrip()}\n```\n"


def collect(build, pages):
    """All pages as files below `pages`; the navigation as (title, file or list)."""
    bins = os.path.join(build, "bin")
    readme = open(os.path.join(TOP, "README.md"), encoding="utf-8").read()
    write(os.path.join(pages, "index.md"), REPOSITORY_FILES.sub("]", readme))
    guide = []
    for path in sorted(glob.glob(os.path.join(TOP, "examples", "guide", "*.md"))):
        name = os.path.basename(path)
        text = open(path, encoding="utf-8").read()
        name = "index.md" if name == "README.md" else name
        write(os.path.join(pages, "guide", name), text)
        guide.append((text.splitlines()[0].lstrip("# "), f"guide/{name}"))
    guide.sort(key=lambda row: row[1] != "guide/index.md")
    navigation = [("dist-mlir", "index.md"), ("Guide", guide)]
    for folder, title in (("Dialects", "Ops"), ("Passes", "Passes"), ("Interfaces", "Interfaces")):
        rows = []
        for path in sorted(glob.glob(os.path.join(build, "docs", folder, "*.md"))):
            stem = re.sub(r"(Dialect|Passes|Interface)$", "", os.path.basename(path).removesuffix(".md"))
            text = re.sub(r"^<!--.*?-->\n", "", open(path, encoding="utf-8").read(), flags=re.S)
            file = f"reference/{folder.lower()}/{stem.lower()}.md"
            heading = "" if text.lstrip().startswith("# ") else f"# {stem}: {title.lower()}\n\n"
            write(os.path.join(pages, file), heading + text)
            rows.append((stem, file))
        navigation.append((title, rows))
    tools = [
        ("Strategies", "strategies.md", printed("Strategies", "What `dist-opt --print-strategies` says.",
                                                [f"{bins}/dist-opt", "--print-strategies"])),
        ("Operators of model files", "operators.md", printed("Operators of model files", "What `dist-opt --print-ops` says.",
                                                             [f"{bins}/dist-opt", "--print-ops"])),
        ("dist-run", "dist-run.md", printed("dist-run", "What `dist-run --help` says.", [f"{bins}/dist-run", "--help"])),
        ("dist-opt", "dist-opt.md", printed("dist-opt", "What `dist-opt --help` says.", [f"{bins}/dist-opt", "--help"])),
        ("Errors", "errors.md", make_page()),
    ]
    for _, file, text in tools:
        write(os.path.join(pages, "reference", file), text)
    navigation.append(("Tools", [(title, f"reference/{file}") for title, file, _ in tools]))
    return navigation


def document_api(build, pages):
    """Doxygen's pages of the C API's headers, and ours that leads there."""
    config = f"""
PROJECT_NAME = "dist-mlir C API"
INPUT = {TOP}/runtime/include/dist
OUTPUT_DIRECTORY = {pages}/api
FILE_PATTERNS = *.h *.hpp
EXTRACT_ALL = YES
OPTIMIZE_OUTPUT_FOR_C = YES
JAVADOC_AUTOBRIEF = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = DIST_API=
GENERATE_LATEX = NO
HAVE_DOT = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
"""
    os.makedirs(f"{pages}/api", exist_ok=True)
    run("doxygen", "-", input=config)
    headers = sorted(os.path.basename(p) for p in glob.glob(f"{TOP}/runtime/include/dist/*.h*"))
    write(f"{pages}/api.md", "# C API\n\nHeaders: " + ", ".join(f"`dist/{h}`" for h in headers) +
          ".\n\n[Types and functions](api/html/index.html)\n")
    return "C API", "api.md"


def to_yaml(rows, indent=2):
    lines = []
    for title, target in rows:
        if isinstance(target, list):
            lines += [f"{' ' * indent}- {title!r}:", *to_yaml(target, indent + 4)]
        else:
            lines.append(f"{' ' * indent}- {title!r}: {target}")
    return lines


def main():
    build = os.path.abspath(sys.argv[1])
    pages, site = f"{build}/site-pages", f"{build}/site"
    for folder in (pages, site):
        shutil.rmtree(folder, ignore_errors=True)
    python = f"{build}/site-python/bin/python"
    if not os.path.exists(f"{build}/site-python/bin/mkdocs"):
        run(sys.executable, "-m", "venv", f"{build}/site-python")
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", GENERATOR)
    navigation = collect(build, pages)
    navigation.append(document_api(build, pages))
    write(f"{build}/mkdocs.yml", "\n".join([
        "site_name: dist-mlir", f"docs_dir: {pages}", f"site_dir: {site}", "use_directory_urls: false", "theme: readthedocs",
        "validation:", "  nav: {omitted_files: warn, not_found: warn}",
        "  links: {not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}",
        "nav:", *to_yaml(navigation)]) + "\n")
    run(python, "-m", "mkdocs", "-q", "build", "--strict", "-f", f"{build}/mkdocs.yml")
    print(f"{sum(len(files) for _, _, files in os.walk(site))} files: {site}/index.html")


if __name__ == "__main__":
    main()
