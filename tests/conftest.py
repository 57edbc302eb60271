"""Fixtures of the end-to-end tests: one running `agenttier up` for all tests that only use it."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import Server  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("needs root: the node agent makes mounts and namespaces")
    with Server(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def api(server):
    return server.client()


@pytest.fixture
def sandbox(server):
    """A running sandbox of the minimal template, deleted afterwards."""
    made = server.create()
    yield made
    made.delete()
