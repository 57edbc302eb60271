"""Fixtures of the tests that attack a sandbox: a world of their own, and sandboxes of each class."""

import os

import pytest

from isolation_world import RUNTIME_CLASSES, Attacked, World


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("needs root: the node agent makes mounts and namespaces")
    with World(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="session", params=RUNTIME_CLASSES)
def runtime_class(request):
    return request.param


@pytest.fixture(scope="session")
def closed(world, runtime_class):
    """A sandbox without any network, for attempts that leave it as it was."""
    made = Attacked(world, runtime_class)
    yield made
    made.delete()


@pytest.fixture(scope="session")
def neighbour(world):
    made = Attacked(world, "native")
    yield made
    made.delete()


@pytest.fixture
def victim(world, runtime_class):
    """A sandbox to be used up by one test, with limits that are soon reached."""
    made = Attacked(world, runtime_class, resources={"limits": {"memory": "512Mi", "cpu": "1"}})
    yield made
    made.delete()
