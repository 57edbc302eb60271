#!/usr/bin/env python3
"""Runs every check of the sources: format, tidy, layers, generated files, links.

  tools/check.py
"""

from __future__ import annotations

import sys

import format as formatting
import gen
import layers
import links
import tidy
import tree


def main() -> int:
    root = tree.ROOT
    tidied = tidy.check(root)
    failed = [
        tree.report("format", formatting.check(root)),
        tree.report("tidy", tidied.problems, tidied.warnings),
        tree.report("layers", layers.check(root)),
        tree.report("links", links.check(root)),
        gen.main(["--check"]),
    ]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
