"""The errors of the tools and the runtime, with their cures, as a page: what `Status::error` calls of the sources say."""
import glob
import os
import re

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
EXITS = {"InvalidInput": 1, "InvalidArgument": 2}
# Short forms: exit code, WHAT if it is always the same, and which arguments are WHAT, WHY and TODO.
CALLS = {"Status::error": (None, None, 1, 3, 4), "wrongValue": (2, "wrong option value", None, 1, 2), "unfit": (1, None, 0, 2, 3)}


def split_arguments(text, start):
    """The top-level arguments of a call whose parenthesis opens at `start`."""
    arguments, depth, current, i = [], 0, "", start
    while i < len(text):
        c = text[i]
        if c == '"':
            end = i + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            current += text[i : end + 1]
            i = end + 1
            continue
        depth += c in "([{"
        depth -= c in ")]}"
        if depth == 0:
            return arguments + [current]
        if c == "," and depth == 1:
            arguments.append(current)
            current = ""
        elif not (c == "(" and depth == 1 and i == start):
            current += c
        i += 1
    return arguments


def as_text(argument):
    """Its words, with `...` for what is known only when it happens."""
    parts = [" / " if m.group() == ":" else m.group(1) or ("" if m.group() in ("?", '""') else "...")
             for m in re.finditer(r'"((?:[^"\\]|\\.)*)"|\?|:(?!:)|[\w.>()\[\]&*-]+(?:::[\w.>()\[\]&*-]+)*', argument)]
    text = re.sub(r"(\.\.\.\s*)+", "... ", "".join(parts)).strip()
    text = text.replace('\\"', '"').replace("\\n", " ")
    return "" if text == "..." and '"' not in argument and argument.strip() in ("", '""') else text


def read_errors():
    errors = {}
    for pattern in ("runtime/**/*.cpp", "tools/**/*.cpp"):
        for name in sorted(glob.glob(os.path.join(TOP, pattern), recursive=True)):
            text = open(name, encoding="utf-8").read()
            for match in re.finditer(rf"\b({'|'.join(CALLS)})\(", text):
                exit_code, fixed, *places = CALLS[match.group(1)]
                arguments = [a.strip() for a in split_arguments(text, match.end() - 1)]
                what, why, cure = (as_text(arguments[i]) if i is not None and i < len(arguments) else "" for i in places)
                what = fixed or what
                if exit_code is None:
                    exit_code = EXITS.get(arguments[0].rsplit("::", 1)[-1], 3)
                # What is handed through by a helper says nothing here; the callers do.
                if what.replace("...", "").strip() and (why or cure):
                    errors.setdefault(what, {}).setdefault((exit_code, why, cure), None)
    return errors


def make_page():
    lines = ["# Errors and their cures", "",
             "An error is one line, `TOOL: error: WHAT (WHERE): WHY; WHAT TO DO`. By WHAT, in the order of the alphabet; `...` is",
             "known only when it happens. Exit codes: 1, the input is at fault; 2, wrong usage; 3, a device, a peer or the file",
             "system failed.", ""]
    escape = lambda text: text.replace("|", "\\|").replace("<", "&lt;")  # noqa: E731
    for what, rows in sorted(read_errors().items(), key=lambda item: item[0].lower()):
        lines += [f"## {escape(what)}", "", "| exit | why | what to do |", "|---|---|---|"]
        lines += [f"| {code} | {escape(why)} | {escape(cure)} |" for code, why, cure in rows] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(make_page())
