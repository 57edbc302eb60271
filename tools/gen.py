#!/usr/bin/env python3
"""Writes everything that is generated from schema/: C++, CRDs, OpenAPI.

  tools/gen.py          writes the files
  tools/gen.py --check  writes nothing; fails and names the files that differ from the schema
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator import cpp, crd, model, openapi, routes, samples  # noqa: E402

CLANG_FORMAT = "clang-format-16"
API = "src/api"
CRDS = "charts/agenttier/crds"


def outputs(loaded: model.Model) -> dict[str, str]:
    """Path below the repository -> text, before formatting."""
    files = {}
    for header in loaded.headers:
        files[f"{API}/{header.name}.h"] = cpp.header_text(header, loaded)
        files[f"{API}/{header.name}.cc"] = cpp.source_text(header)
    operations = routes.load(loaded)
    files[f"{API}/routes.h"] = routes.header_text(operations)
    files[f"{API}/routes.cc"] = routes.source_text()
    for kind in loaded.kinds():
        if kind.kind.get("crd"):
            name = f"{kind.kind['group']}_{kind.kind['plural']}.yaml"
            files[f"{CRDS}/{name}"] = crd.crd_yaml(loaded, kind)
    files[f"{API}/crds.h"] = crd.header_text()
    files[f"{API}/crds.cc"] = crd.source_text(loaded)
    files[f"{API}/round_trip_test.cc"] = samples.source_text(loaded, operations)
    document = openapi.document(loaded, operations, routes.load_errors())
    files["schema/openapi.json"] = openapi.json_text(document)
    files[f"{API}/openapi.h"] = openapi.header_text()
    files[f"{API}/openapi.cc"] = openapi.source_text(document)
    return files


def formatted(path: str, text: str) -> str:
    if not path.endswith((".h", ".cc")):
        return text
    if shutil.which(CLANG_FORMAT) is None:
        sys.exit(f"{CLANG_FORMAT} is not installed; run ./dev setup")
    command = [CLANG_FORMAT, f"--assume-filename={model.ROOT / path}"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        files = outputs(model.load())
    except model.SchemaError as error:
        print(f"schema: {error}", file=sys.stderr)
        return 1
    stale = []
    for path, text in files.items():
        target = model.ROOT / path
        text = formatted(path, text)
        if target.exists() and target.read_text() == text:
            continue
        stale.append(path)
        if not arguments:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    if arguments and stale:
        print("not what schema/ says; run ./dev gen:\n  " + "\n  ".join(stale))
        return 1
    if arguments:
        print(f"generated: ok, {len(files)} files")
    else:
        print(f"{len(stale)} of {len(files)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
