"""Runtime classes: what was asked for is what runs, or the sandbox says why not."""

import os
import pathlib
import shutil
import subprocess

import pytest

from harness import BIN, Server, eventually


def kernel_of(sandbox):
    return sandbox.out("cat /proc/version")


def test_a_sandbox_that_asks_for_gvisor_runs_on_another_kernel(server):
    native, gvisor = server.create(), server.create(runtimeClass="gvisor")
    try:
        own = pathlib.Path("/proc/version").read_text()
        assert kernel_of(native) == own
        assert kernel_of(gvisor) != own
    finally:
        native.delete()
        gvisor.delete()


def conditions(server, name):
    return " ".join(condition.get("message", "") for condition in
                    server.client().get(f"/sandboxes/{name}").json()["conditions"])


def create_without_waiting(server, name, **more):
    reply = server.client().post("/sandboxes", json={
        "name": name, "templateRef": {"name": "minimal", "kind": "ClusterSandboxTemplate"}, **more})
    assert reply.status_code == 201, reply.text


def test_an_unknown_runtime_class_is_told_and_nothing_else_runs_in_its_place(server):
    create_without_waiting(server, "unknown-class", runtimeClass="kata")
    try:
        eventually(lambda: '"kata" is not known on this node; use gvisor or runc' in
                   conditions(server, "unknown-class"), 30, "the reason in a condition")
        assert server.client().get("/sandboxes/unknown-class").json()["status"] != "Running"
    finally:
        server.client().delete("/sandboxes/unknown-class")


@pytest.fixture
def without_gvisor(tmp_path):
    """A server that sees no runsc: another file lies over it, in mounts of its own."""
    server = Server(tmp_path)
    runsc = shutil.which("runsc")
    hide = f'mount --bind /dev/null {runsc} && exec "$@"'
    server.launcher = ("unshare", "--mount", "--propagation", "slave", "sh", "-c", hide, "sh")
    with server:
        yield server


def test_without_gvisor_a_sandbox_that_asks_for_it_says_so(without_gvisor):
    server = without_gvisor
    create_without_waiting(server, "wants-gvisor", runtimeClass="gvisor")
    eventually(lambda: "runsc (gVisor) is not installed: install the package runsc" in
               conditions(server, "wants-gvisor"), 30, "the reason in a condition")
    assert "runsc (gVisor) is not installed" in server.log_path.read_text()
    # Others are not held up.
    made = server.create()
    assert made.out("echo fine") == "fine\n"


@pytest.mark.parametrize("content, words", [
    (None, "the sandbox runtime is not at"),
    (b"text", "is not a program that can be run"),
    (b"\x7fELF and no more", "is not a static program"),
], ids=["missing", "not-executable", "not-static"])
def test_a_server_without_its_sandbox_runtime_says_so_and_does_not_start(tmp_path, content, words):
    program = tmp_path / "runtime"
    if content is not None:
        program.write_bytes(content)
        program.chmod(0o644 if content == b"text" else 0o755)
    ended = subprocess.run(
        [str(BIN / "agenttier"), "up", "--state-dir", str(tmp_path / "state"), "--listen", "127.0.0.1:0",
         "--runtime-binary", str(program)], capture_output=True, text=True, timeout=60,
        env=dict(os.environ, AGENTTIER_CONFIG=str(tmp_path / "cli.json")))
    assert ended.returncode != 0
    assert words in ended.stderr and "--runtime-binary" in ended.stderr, ended.stderr
