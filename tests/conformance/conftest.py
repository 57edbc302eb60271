"""Runs every check against our store and against a real kube-apiserver.

  pytest tests/conformance --server ours|real|both

A check says what the real server does. Where ours is known to differ, differences.py says so with a
reason; a difference that is listed and is none any more fails the run.
"""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from client import Api  # noqa: E402
from differences import DIFFERENCES  # noqa: E402
from kinds import NAMESPACE, unique  # noqa: E402
from servers import OurServer, RealServer  # noqa: E402

SERVERS = {"ours": OurServer, "real": RealServer}


def pytest_addoption(parser):
    parser.addoption("--server", choices=[*SERVERS, "both"], default="both")
    parser.addoption("--write-answers", action="store_true",
                     help="write what the real server answers to answers.json")


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--server")
        names = list(SERVERS) if chosen == "both" else [chosen]
        metafunc.parametrize("server", names, indirect=True, scope="session")


def check_name(item):
    """test_verbs.py::test_get[Pod]: without the server's name."""
    parts = [part for part in item.callspec.id.split("-") if part not in SERVERS]
    name = f"{item.path.name}::{item.originalname}"
    return f"{name}[{'-'.join(parts)}]" if parts else name


def pytest_collection_modifyitems(config, items):
    seen = set()
    for item in items:
        if "server" not in getattr(item, "fixturenames", ()):
            continue
        name = check_name(item)
        seen.add(name)
        if item.callspec.params["server"] == "ours" and name in DIFFERENCES:
            item.add_marker(pytest.mark.xfail(reason=DIFFERENCES[name], strict=True))
    unknown = [] if config.args_source.name == "ARGS" and "::" in " ".join(config.args) else \
        [name for name in DIFFERENCES if name.split("::")[0] in {n.split("::")[0] for n in seen}
         and name not in seen]
    if unknown:
        raise pytest.UsageError(f"differences.py lists checks that do not exist: {unknown}")


@pytest.fixture(scope="session")
def server(request, tmp_path_factory):
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture(scope="session")
def api(server):
    with server.http() as http:
        yield Api(http)


@pytest.fixture
def ns(api):
    """A namespace of the test's own. The servers are thrown away, and so is what is in them."""
    name = unique("t")
    api.create(NAMESPACE, None, NAMESPACE.object(name))
    return name
