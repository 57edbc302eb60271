"""Fixtures of the tests that attack a sandbox: a world of their own, and sandboxes of each class."""

import json
import os
import uuid

import pytest

from isolation_world import World

RUNTIME_CLASSES = ("runc", "gvisor")


class Attacked:
    """A sandbox with the probe in it."""

    def __init__(self, world, runtime_class, **more):
        if runtime_class != "runc":
            more["runtimeClass"] = runtime_class
        self.world, self.runtime_class = world, runtime_class
        more.setdefault("network", {"allowInternet": False})
        self.sandbox = world.server.create(**more)
        self.sandbox.write("/workspace/probe", world.probe.read_bytes())
        self.sandbox.out("chmod 755 /workspace/probe")

    def __getattr__(self, name):
        return getattr(self.sandbox, name)

    def probe(self, *words, timeout=30):
        command = " ".join(["/workspace/probe", *words])
        result = self.sandbox.exec(command, timeout=timeout)
        assert result["exitCode"] == 0 and result["stdout"], result
        return json.loads(result["stdout"])

    def begin(self, *words):
        """Starts an attack that goes on by itself; gives what it says it took, when it has it."""
        said = f"/workspace/said-{uuid.uuid4().hex[:8]}"
        command = " ".join(["/workspace/probe", *words])
        self.sandbox.exec(f"nohup setsid {command} >{said} 2>&1 </dev/null &", timeout=20)
        return said

    def ip(self):
        return self.sandbox.get().json()["podIP"]


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
    made = Attacked(world, "runc")
    yield made
    made.delete()


@pytest.fixture
def victim(world, runtime_class):
    """A sandbox to be used up by one test, with limits that are soon reached."""
    made = Attacked(world, runtime_class, resources={"limits": {"memory": "512Mi", "cpu": "1"}})
    yield made
    made.delete()
