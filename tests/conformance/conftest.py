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
from differences import DIFFERENCES, DIFFERENT_PARTS  # noqa: E402
from kinds import NAMESPACE, unique  # noqa: E402
from servers import OurServer, RealServer  # noqa: E402

DIFFERENCE = pytest.StashKey[str]()
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
    """test_verbs.py::test_get[Pod]: without the server's name, which comes first."""
    own = item.callspec.id.removeprefix(item.callspec.params["server"]).removeprefix("-")
    name = f"{item.path.name}::{item.originalname}"
    return f"{name}[{own}]" if own else name


def pytest_collection_modifyitems(items):
    checks = {check_name(item): item for item in items
              if hasattr(item, "callspec") and item.callspec.params.get("server") == "ours"}
    for name in DIFFERENCES.keys() & checks.keys():
        checks[name].stash[DIFFERENCE] = DIFFERENCES[name]
    # A line about a check that is gone would never be missed. Where a function was collected at
    # all, it was collected with all its parameters, unless one was chosen by its whole name.
    functions = {name.split("[")[0] for name in checks}
    gone = [name for name in DIFFERENCES if name.split("[")[0] in functions and name not in checks]
    if gone and len(checks) > 1:
        raise pytest.UsageError(f"differences.py lists checks that do not exist: {gone}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A check that is listed as a difference must differ."""
    reason = pyfuncitem.stash.get(DIFFERENCE, None)
    if reason is None:
        return (yield)
    try:
        yield
    except Exception:
        return True
    pytest.fail(f"listed in differences.py and the same: {reason}")


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--server") != "real":
        parts = sum(len(parts) for parts in DIFFERENT_PARTS.values())
        terminalreporter.write_line(
            f"differences of ours, each with its reason in differences.py: {len(DIFFERENCES)} checks, "
            f"{parts} parts of {len(DIFFERENT_PARTS)} whole answers")


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
