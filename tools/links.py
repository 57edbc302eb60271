#!/usr/bin/env python3
"""Fails on a link of a Markdown file that leads to no file or no heading of the repository.

  tools/links.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

import tree

LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.M)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    out = set()
    for heading in HEADING.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        out.add(slug if slug not in found else f"{slug}-{found[slug]}")
        found[slug] = found.get(slug, 0) + 1
    return out


def check(root: Path) -> list[str]:
    problems = []
    for path in tree.files(root, ".md"):
        text = path.read_text()
        code = CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        for match in LINK.finditer(code):
            target = match.group(1)
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            where = f"{path.relative_to(root)}:{code.count(chr(10), 0, match.start()) + 1}"
            file, _, anchor = unquote(target).partition("#")
            goal = (path.parent / file).resolve() if file else path
            if not goal.exists() or not goal.is_relative_to(root.resolve()):
                problems.append(f"{where}: {target} leads nowhere")
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text()):
                problems.append(f"{where}: {target}: there is no such heading")
    return problems


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else tree.ROOT
    sys.exit(tree.report("links", check(folder)))
