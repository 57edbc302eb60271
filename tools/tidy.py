#!/usr/bin/env python3
"""Fails on what STYLE.md bans and a compiler does not see; warns of what deserves a second look.

  tools/tidy.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tree

LINE_MAX = 100
SIZES = ((".h", 350), ("_test.cc", 800), (".cc", 500), (".py", 500))
TODO_KINDS = {"soon", "someday", "perf", "security", "test"}
TEXT_SUFFIXES = (".h", ".cc", ".py", ".md", ".yaml", ".yml", ".sh", ".txt", ".cmake", ".ts", ".tsx",
                 ".json", ".toml")
THIS_FOLDER = "tools/"  # the checks and their tests spell what they ban

# pattern, what to say; in code with comments taken out
CODE_BANS = (
    (re.compile(r"\bstd::j?thread\b"), "a thread outside async/: use async::BlockingPool",
     lambda f, t: f not in ("async", "node") and not t),  # node: a namespace needs its own thread
    (re.compile(r"this_thread::sleep_for|this_thread::sleep_until|\busleep\(|\bnanosleep\("),
     "a test that sleeps: advance a fake clock, or wait for what should happen", lambda f, t: t),
    (re.compile(r'"[^"\n]*agenttier\.io/'), "a name that belongs in api/names.h",
     lambda f, t: f != "api" and not t),
    (re.compile(r"\basio::detached\b|\bnet::detached\b"), "a task without an owner: use TaskGroup",
     lambda f, t: f != "async" and not t),
    (re.compile(r'#\s*include\s+<boost/(asio|beast)\.hpp>'), "an umbrella header of Boost",
     lambda f, t: True),
)
CODE_WARNINGS = (
    (re.compile(r"\bsystem_clock::now\(|\bsteady_clock::now\("), "the clock is a parameter",
     lambda f, t: f not in ("base", "programs") and not t),
    (re.compile(r"\bgetenv\("), "the environment is a parameter",
     lambda f, t: f not in ("programs", "runtime", "cli") and not t),
)
TEXT_BANS = (
    (re.compile(r"\bFIXME\b|\bXXX\b"), "FIXME: fix it, or write TODO(kind)"),
    (re.compile(r"\bFR-?\d+\b|\b(issue|ticket|task|bug|PR|MR) #?\d+\b|\bGH-\d+\b", re.I),
     "the number of a ticket: say what is so, not where it was discussed"),
    (re.compile(r"(?<![\w.])/work/(?!space)\w+|(?<![\w/.])/home/(?!user\b|sandbox\b)\w+/|\.\./shared\b"),
     "a path of somebody's machine"),
)
TODO = re.compile(r"\bTODO\b(?:\((\w*)\))?")
BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s+\w+\s*(?=[,)=])")
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def without_comments(text: str) -> str:
    """The same number of lines, with comments gone and strings kept."""
    return STRING_OR_COMMENT.sub(
        lambda m: m.group(0) if m.group(0)[0] == '"' else "\n" * m.group(0).count("\n"), text)


def without_strings(text: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


class Findings:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.warnings: list[str] = []


def check_header(name: str, text: str, found: Findings) -> None:
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line == "#pragma once"), None)
    if start is None:
        found.problems.append(f"{name}:1: a header begins with #pragma once")
        return
    comment = 0
    for line in lines[start + 1:]:
        if not line.startswith("//"):
            break
        comment += 1
    if comment == 0:
        found.problems.append(f"{name}:{start + 2}: a header opens with a comment: the concept, "
                              "what it guarantees, an example")
    elif comment < 3 and not tree.is_generated(text):
        found.warnings.append(f"{name}:{start + 2}: its opening comment is short")
    code = without_strings(without_comments(text))
    for match in BOOL_PARAMETER.finditer(code):
        found.warnings.append(f"{name}:{line_of(code, match.start())}: a bool parameter: "
                              "a two-value enum says more")


def check_code(name: str, text: str, found: Findings) -> None:
    path = Path(name)
    folder = path.parts[1] if name.startswith("src/") and len(path.parts) > 2 else ""
    test = tree.is_test(path)
    code = without_comments(text)
    for rules, out in ((CODE_BANS, found.problems), (CODE_WARNINGS, found.warnings)):
        for pattern, message, applies in rules:
            if not applies(folder, test):
                continue
            for match in pattern.finditer(code):
                out.append(f"{name}:{line_of(code, match.start())}: {message}")
    if name.endswith(".h"):
        check_header(name, text, found)


def check_text(name: str, text: str, found: Findings) -> None:
    for pattern, message in TEXT_BANS:
        for match in pattern.finditer(text):
            found.problems.append(f"{name}:{line_of(text, match.start())}: {message}")
    for match in TODO.finditer(text if not name.endswith(".md") else ""):
        if match.group(1) not in TODO_KINDS:
            found.problems.append(f"{name}:{line_of(text, match.start())}: TODO needs a kind: "
                                  f"{', '.join(sorted(TODO_KINDS))}")


def check_size(name: str, text: str, found: Findings) -> None:
    if tree.is_generated(text):
        return
    lines = text.splitlines()
    for suffix, size_max in SIZES:
        if name.endswith(suffix):
            if len(lines) > size_max:
                found.warnings.append(f"{name}: {len(lines)} lines; look again above {size_max}")
            break
    if name.endswith((".h", ".cc")):
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                found.warnings.append(f"{name}:{number}: {len(line)} columns")


def check(root: Path) -> Findings:
    found = Findings()
    for path in tree.files(root):
        name = path.relative_to(root).as_posix()
        if path.suffix not in TEXT_SUFFIXES and path.name not in ("dev", "run"):
            continue
        text = path.read_text(errors="replace")
        if name.endswith((".h", ".cc")):
            check_code(name, text, found)
        if not name.startswith(THIS_FOLDER):
            check_text(name, text, found)
        check_size(name, text, found)
    return found


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT
    result = check(where)
    sys.exit(tree.report("tidy", result.problems, result.warnings))
