#!/usr/bin/env python3
"""Counts the results of a test run and says what failed and what was skipped, and why.

  tools/summary.py FOLDER [--expected-skips FILE]

Reads the results of GoogleTest (XML or JSON) and of pytest (JUnit XML) in FOLDER; a file *.crash is a
program that left no result. The last line is "N passed, N failed, N skipped". Exits 1 if a test
failed, if a result cannot be read, if there is none, or if a skip is not in the file of expected
ones: one a line, a test's full name or a prefix that ends in '*'; '#' begins a comment.
"""

from __future__ import annotations

import argparse
import json
import sys
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Results:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def one_line(text: str) -> str:
    """A reason without the place in a source file that GoogleTest puts before it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].rsplit(":", 1)[-1].isdigit():
        lines = lines[1:]
    return " ".join(lines) or "no reason given"


def read_gtest_json(path: Path, results: Results) -> None:
    for suite in json.loads(path.read_text()).get("testsuites", []):
        for case in suite.get("testsuite", []):
            name = f"{suite['name']}.{case['name']}"
            if case.get("failures"):
                results.failed.append(name)
            elif case.get("status") == "NOTRUN":
                results.skipped.append((name, "disabled"))
            elif case.get("result") == "SKIPPED":
                reasons = case.get("skipped") or [{}]
                results.skipped.append((name, one_line(reasons[0].get("message", ""))))
            else:
                results.passed += 1


def read_junit(path: Path, results: Results) -> None:
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            results.failed.append(name)
        elif skip is not None:
            results.skipped.append((name, one_line(skip.get("message") or skip.text or "")))
        elif case.get("status") == "notrun":
            results.skipped.append((name, "disabled"))
        else:
            results.passed += 1


def read(folder: Path) -> Results:
    results = Results()
    paths = sorted(folder.glob("*")) if folder.is_dir() else []
    seen = 0
    for path in paths:
        if path.suffix == ".crash":
            results.failed.append(path.read_text().strip() or path.stem)
            continue
        reader = {".json": read_gtest_json, ".xml": read_junit}.get(path.suffix)
        if reader is None:
            continue
        seen += 1
        try:
            reader(path, results)
        except (xml.ParseError, ValueError, KeyError, AttributeError) as error:
            results.failed.append(f"{path.name} cannot be read: {error}")
    if seen == 0:
        results.failed.append(f"there are no results in {folder}")
    return results


def expected_skips(path: Path | None) -> list[str]:
    if path is None:
        return []
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def is_expected(name: str, expected: list[str]) -> bool:
    return any(name.startswith(e[:-1]) if e.endswith("*") else name == e for e in expected)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--expected-skips", type=Path)
    options = parser.parse_args(arguments)
    results = read(options.folder)
    expected = expected_skips(options.expected_skips)
    surprises = 0
    for name in results.failed:
        print(f"failed: {name}")
    for name, reason in results.skipped:
        surprise = not is_expected(name, expected)
        surprises += surprise
        print(f"skipped{' (unexpected)' if surprise else ''}: {name}: {reason}")
    if surprises:
        print(f"{surprises} skips are not in {options.expected_skips or 'a file of expected ones'}")
    print(f"{results.passed} passed, {len(results.failed)} failed, {len(results.skipped)} skipped")
    return 1 if results.failed or surprises else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
