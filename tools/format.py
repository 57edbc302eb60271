#!/usr/bin/env python3
"""Fails if a C++ file that git knows is not formatted; `./dev fmt` formats them.

  tools/format.py [ROOT]
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import tree

CLANG_FORMAT = "clang-format-16"
NOT_YET = "tools/unformatted.txt"


def check(root: Path) -> list[str]:
    if shutil.which(CLANG_FORMAT) is None:
        return [f"{CLANG_FORMAT} is not installed; run ./dev setup"]
    paths = [path.relative_to(root).as_posix() for path in tree.files(root, ".h", ".cc")]
    if (root / NOT_YET).exists():
        later = set((root / NOT_YET).read_text().split("\n"))
        paths = [path for path in paths if path not in later]
    if not paths:
        return []
    command = [CLANG_FORMAT, "--dry-run", "--ferror-limit=1", *paths]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    found = dict.fromkeys(re.findall(r"^([^:\n]+):\d+:\d+: (?:warning|error): code", done.stderr,
                                     re.M))
    problems = [f"{path}: not formatted; run ./dev fmt" for path in found]
    if done.returncode != 0 and not problems:
        problems.append(done.stderr.strip())
    return problems


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT
    sys.exit(tree.report("format", check(where)))
