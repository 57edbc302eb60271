#!/usr/bin/env python3
"""Fails if a file of src/ includes a folder that tools/layers.txt does not allow it, if the table has
a cycle, or if CMakeLists.txt links a folder with one that it may not include.

  tools/layers.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([a-z_]+)/[^"]+"', re.M)
LIBRARY = re.compile(r"agenttier_library\((\w+)(?:\s+DEPS((?:\s+(?!LIBS\b)\w+)*))?")


class Table:
    def __init__(self, text: str):
        self.folders: dict[str, set[str]] = {}
        self.patterns: list[tuple[str, set[str]]] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, colon, allowed = line.partition(":")
            if not colon:
                raise ValueError(f"tools/layers.txt:{number}: '{line}' has no ':'")
            edges = set(allowed.split()) - {"-"}
            if "/" in name:
                self.patterns.append((name.strip(), edges))
            else:
                self.folders[name.strip()] = edges
        for name, edges in [*self.folders.items(), *self.patterns]:
            if unknown := edges - set(self.folders):
                raise ValueError(f"tools/layers.txt: {name}: {', '.join(sorted(unknown))} is no folder")

    def allowed(self, folder: str, path: str) -> set[str]:
        allowed = self.folders.get(folder, set()) | {folder}
        for pattern, edges in self.patterns:
            if fnmatch(path, pattern):
                allowed &= edges
        return allowed

    def cycle(self) -> list[str]:
        done: set[str] = set()

        def visit(name: str, path: list[str]) -> list[str]:
            if name in path:
                return path[path.index(name):] + [name]
            if name in done:
                return []
            for edge in sorted(self.folders[name]):
                if found := visit(edge, path + [name]):
                    return found
            done.add(name)
            return []

        for name in self.folders:
            if found := visit(name, []):
                return found
        return []


def check(root: Path) -> list[str]:
    try:
        table = Table((root / "tools/layers.txt").read_text())
    except ValueError as error:
        return [str(error)]
    problems = []
    if cycle := table.cycle():
        problems.append(f"tools/layers.txt: a cycle: {' -> '.join(cycle)}")
    for path in tree.files(root, ".h", ".cc"):
        relative = path.relative_to(root).as_posix()
        if not relative.startswith("src/"):
            continue
        folder, _, name = relative.removeprefix("src/").partition("/")
        if folder not in table.folders:
            problems.append(f"{relative}: the folder {folder} is not in tools/layers.txt")
            continue
        allowed = table.allowed(folder, f"{folder}/{name}")
        if tree.is_test(path):
            allowed = set(table.folders) - ({"programs"} if folder != "programs" else set())
        for match in INCLUDE.finditer(path.read_text()):
            if match.group(1) in table.folders and match.group(1) not in allowed:
                line = path.read_text()[:match.start()].count("\n") + 1
                problems.append(f"{relative}:{line}: {folder} may not include {match.group(1)}/")
    return problems + _check_cmake(root, table)


def _check_cmake(root: Path, table: Table) -> list[str]:
    cmake = root / "CMakeLists.txt"
    if not cmake.exists():
        return []
    problems = []
    for folder, deps in LIBRARY.findall(cmake.read_text()):
        if folder not in table.folders:
            problems.append(f"CMakeLists.txt: the folder {folder} is not in tools/layers.txt")
        elif extra := set(deps.split()) - table.folders[folder]:
            problems.append(f"CMakeLists.txt: {folder} may not depend on {', '.join(sorted(extra))}")
    return problems


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT
    sys.exit(tree.report("layers", check(where)))
