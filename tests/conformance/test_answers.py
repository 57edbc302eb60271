"""Whole answers: what the real server says is in answers.json, and ours says the same.

  pytest tests/conformance/test_answers.py --server real --write-answers     after a new case
"""

import json
import pathlib

import pytest
from answer_cases import CASES
from answers import comparable, differing
from differences import DIFFERENT_PARTS

FILE = pathlib.Path(__file__).with_name("answers.json")
RECORDED = json.loads(FILE.read_text()) if FILE.exists() else {}


@pytest.mark.parametrize("name", CASES)
def test_answer(request, server, api, ns, name):
    answer = comparable(CASES[name](api, ns), ns)
    if request.config.getoption("--write-answers") and server.name == "real":
        RECORDED[name] = answer
        lines = [f"{json.dumps(key)}: {json.dumps(RECORDED[key], sort_keys=True)}"
                 for key in CASES if key in RECORDED]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    wanted = RECORDED[name]
    found = set(differing(answer, wanted))
    listed = set(DIFFERENT_PARTS.get(name, {})) if server.name == "ours" else set()
    assert found == listed, f"unlisted: {sorted(found - listed)}; no longer: {sorted(listed - found)}\n" \
        f"answered: {json.dumps(answer)}\nwanted: {json.dumps(wanted)}"


def test_every_listed_part_is_of_a_case():
    assert set(DIFFERENT_PARTS) <= set(CASES)
