"""The published Python SDK, unchanged, does the main job against our server."""

import asyncio
import hashlib
import os
import uuid
import zipfile

import agenttier
import pytest

from harness import eventually


@pytest.fixture
def client(server):
    return agenttier.AgentTierClient(api_url=server.url, auth=agenttier.APIKeyAuth(server.key))


@pytest.fixture
def made(client):
    name = "sdk-" + uuid.uuid4().hex[:8]
    sandbox = client.create_sandbox(template="minimal", name=name)
    sandbox.wait_until_running(timeout=60, poll_interval=0.02)
    yield sandbox
    try:
        sandbox.terminate()
    except agenttier.NotFoundError:
        pass


def test_who_am_i(client):
    me = client.current_user()
    assert me.sub and me.is_admin and me.groups is not None


def test_templates_are_listed(client):
    assert {"minimal", "general-coding"} <= {t.name for t in client.list_templates()}
    assert client.get_template("minimal").name == "minimal"


def test_exec(made):
    result = made.exec("printf '%s' \"h\u00e9llo '\u4e16\u754c'\"; exit 3")
    assert (result.stdout, result.exit_code) == ("h\u00e9llo '\u4e16\u754c'", 3)


def test_files_and_archive(made, tmp_path):
    made.files.write("/workspace/d\u00efr/a b.txt", "hi\n")
    assert made.files.read("/workspace/d\u00efr/a b.txt") == b"hi\n"
    assert [e.name for e in made.files.list("/workspace/d\u00efr")] == ["a b.txt"]
    data = os.urandom(1 << 20) * 20
    (tmp_path / "up").write_bytes(data)
    made.files.upload("/workspace/large", str(tmp_path / "up"))
    made.files.download("/workspace/large", str(tmp_path / "down"))
    assert hashlib.sha256((tmp_path / "down").read_bytes()).digest() == hashlib.sha256(data).digest()
    made.files.archive(str(tmp_path / "z.zip"), "/workspace")
    archive = zipfile.ZipFile(tmp_path / "z.zip")
    assert archive.testzip() is None
    assert archive.read("d\u00efr/a b.txt") == b"hi\n"
    with pytest.raises(agenttier.NotFoundError):
        made.files.read("/workspace/none")


def test_conflicts_are_told(client, made):
    with pytest.raises(agenttier.ConflictError):
        client.create_sandbox(template="minimal", name=made.name)


def test_an_unknown_template_is_named(client):
    with pytest.raises(agenttier.AgentTierError, match="no-such"):
        client.create_sandbox(template="no-such", name="x1")


def test_ports(made):
    assert made.forward_port(8000).port == 8000
    assert [p.port for p in made.list_ports()] == [8000]
    made.remove_port(8000)
    assert made.list_ports() == []


def test_stop_resume_and_clone(client, made):
    made.exec("echo keep > /workspace/keep")
    copy = made.clone(name=made.name + "-copy")
    copy.wait_until_running(timeout=60, poll_interval=0.02)
    assert copy.exec("cat /workspace/keep").stdout == "keep\n"
    copy.terminate()
    made.stop()
    eventually(lambda: str(made.status().status) in ("Stopped", "SandboxPhase.STOPPED"), 30)
    with pytest.raises(agenttier.ConflictError):
        made.exec("true")
    made.resume()
    made.wait_until_running(timeout=60, poll_interval=0.02)
    assert made.exec("cat /workspace/keep").stdout == "keep\n"


def test_the_async_client(server, made):
    async def ten():
        auth = agenttier.APIKeyAuth(server.key)
        async with agenttier.AsyncAgentTierClient(api_url=server.url, auth=auth) as client:
            sandbox = await client.get_sandbox(made.id)
            results = await asyncio.gather(*[sandbox.exec(f"echo {i}") for i in range(10)])
            return [int(r.stdout) for r in results]

    assert asyncio.run(ten()) == list(range(10))
