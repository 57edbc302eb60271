"""The main job: make a sandbox, run things in it, stop it, get every file back."""

import hashlib
import os

import pytest

from harness import RUNTIME_CLASSES, asking_for


@pytest.fixture(params=RUNTIME_CLASSES)
def sandbox(server, request):
    made = server.create(**asking_for(request.param))
    yield made
    made.delete()


def test_a_sandbox_keeps_its_files_over_stop_and_resume(sandbox):
    sandbox.write("/workspace/notes/a.txt", b"kept\n")
    assert sandbox.out("cat notes/a.txt") == "kept\n"

    sandbox.stop()
    sandbox.resume()

    assert sandbox.read("/workspace/notes/a.txt") == b"kept\n"


def test_ten_cycles_of_stop_and_resume_lose_nothing(sandbox):
    for cycle in range(10):
        sandbox.write(f"/workspace/n{cycle}", str(cycle).encode())
        sandbox.stop()
        sandbox.resume()
        for earlier in range(cycle + 1):
            assert sandbox.read(f"/workspace/n{earlier}") == str(earlier).encode()


def test_create_answers_when_the_sandbox_can_be_used(sandbox):
    assert sandbox.out("id -u; pwd").split() == ["1000", "/workspace"]


def test_stop_and_resume_back_to_back_always_ends_running(sandbox):
    for _ in range(10):
        assert sandbox.http.post(f"/sandboxes/{sandbox.name}/stop").status_code == 200
        reply = sandbox.http.post(f"/sandboxes/{sandbox.name}/resume")
        if reply.status_code == 409:
            sandbox.wait("Stopped")
            sandbox.resume()
        sandbox.wait("Running")
        assert sandbox.out("echo up") == "up\n"


@pytest.mark.parametrize("runtime_class", RUNTIME_CLASSES)
def test_a_deleted_name_can_be_used_again_and_is_another_sandbox(server, runtime_class):
    first = server.create(name="again", **asking_for(runtime_class))
    first.write("/workspace/secret", b"old")
    first.delete()
    second = server.create(name="again", **asking_for(runtime_class))
    assert second.http.get("/sandboxes/again/files/workspace/secret").status_code == 404
    second.delete()


def test_exec_gives_output_errors_and_exit_code(sandbox):
    result = sandbox.exec("echo out; echo err >&2; exit 7")
    assert (result["stdout"], result["stderr"], result["exitCode"]) == ("out\n", "err\n", 7)


def test_exec_gives_five_megabytes_whole(sandbox):
    assert len(sandbox.out("head -c 5000000 /dev/zero | tr '\\0' x", timeout=60)) == 5_000_000


def test_exec_without_input_sees_end_of_file(sandbox):
    assert sandbox.out("cat; read x; echo \"[$x]\"") == "[]\n"


def test_exec_past_its_time_limit_is_killed_with_its_children(sandbox):
    result = sandbox.exec("sleep 300 & sleep 300", timeout=1)
    assert result["exitCode"] != 0
    assert result["timedOut"] is True
    assert sandbox.exec("pgrep -x sleep | wc -l")["stdout"].strip() == "0"


def test_environment_names_are_checked_and_values_kept(sandbox):
    value = "a\nb'\"$(id)"
    assert sandbox.out("printf %s \"$K\"", env={"K": value}) == value
    reply = sandbox.http.post(f"/sandboxes/{sandbox.name}/exec",
                              json={"command": "true", "env": {"A;touch /tmp/p;B": "1"}})
    assert reply.status_code == 400
    assert "A;touch" in reply.text


def test_files_of_any_size_arrive_whole(sandbox):
    for size in (0, 1, 200_000, 64 << 20):
        data = os.urandom(min(size, 1 << 20)) * max(1, size >> 20)
        data = data[:size]
        sandbox.write("/workspace/blob", data)
        assert hashlib.sha256(sandbox.read("/workspace/blob")).digest() == hashlib.sha256(data).digest()


def test_an_uploaded_file_belongs_to_the_sandbox_user(sandbox):
    sandbox.write("/workspace/a/b/c.txt", b"x")
    assert sandbox.out("cd a/b && echo y >> c.txt && chmod 600 c.txt && mv c.txt d.txt && cat d.txt") == "xy\n"


def test_a_range_of_a_file_can_be_read(sandbox):
    sandbox.write("/workspace/r", b"0123456789")
    reply = sandbox.http.get(f"/sandboxes/{sandbox.name}/files/workspace/r", headers={"Range": "bytes=2-4"})
    assert (reply.status_code, reply.content) == (206, b"234")
