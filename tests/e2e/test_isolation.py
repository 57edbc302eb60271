"""What hostile code in a sandbox tries, one attempt a test. docs/isolation.md has the table.

The same attempts are made on the host, where they work: so a refusal comes from the sandbox.
"""

import os
import pathlib
import shutil
import subprocess
import uuid

import pytest

import isolation_attempts as attempts
from harness import ROOT, eventually
from isolation_world import Attacked


@pytest.fixture(scope="session")
def marker(tmp_path_factory):
    """A folder of the host that no image has."""
    return str(tmp_path_factory.mktemp("of-the-host"))


@pytest.mark.parametrize("attempt", attempts.ALL, ids=attempts.title)
def test_in_a_sandbox(closed, marker, attempt):
    if closed.runtime_class == "gvisor" and attempt in attempts.WITHOUT_EFFECT_IN_GVISOR:
        return check_without_effect(closed, attempt.format(runtime=1))
    result = closed.probe(*attempt.format(marker=marker, runtime=1).split())
    assert result["outcome"] == "refused", result


def check_without_effect(closed, attempt):
    """gVisor's own kernel says yes; the processes that the machine sees stay as they are."""
    before = host_weights(closed)
    closed.probe(*attempt.split())
    assert before and host_weights(closed) == before


def host_weights(attacked):
    """Priority and standing with the memory killer of each of the sandbox's processes on the host."""
    uid = attacked.world.pod_uid(attacked)
    return {pid: (os.getpriority(os.PRIO_PROCESS, int(pid)),
                  pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text())
            for pid in os.listdir("/proc")
            if pid.isdigit() and command_line(pid).startswith(b"runsc-") and uid.encode() in command_line(pid)}


@pytest.mark.parametrize("attempt", attempts.WORK_ON_HOST, ids=lambda a: f"{a.split()[0]}-works")
def test_on_the_host(world, marker, attempt):
    # Mounts of its own, for what the attempt changes; the one it attacks is a process made here.
    held = os.open("/dev/null", os.O_RDONLY)
    attacked = subprocess.Popen(["sleep", "600"], env={"AGENTTIER_RUNTIME_TOKEN_SHA256": "x"},
                                pass_fds=[held])
    os.close(held)
    try:
        words = attempt.format(marker=marker, runtime=attacked.pid).split()
        result = world.on_host(*words, before=("unshare", "--mount", "--propagation", "private"))
        assert result["outcome"] == "done", result
    finally:
        attacked.kill()
        attacked.wait()


def test_a_set_user_id_program_of_root_gives_nothing(world, closed):
    """Planted by the host, since code inside cannot make one."""
    planted = volume_of(world, closed) / "planted"
    shutil.copy(world.probe, planted)
    os.chown(planted, 0, 0)
    planted.chmod(0o4755)
    try:
        result = closed.out("/workspace/planted effective_user")
        assert '"outcome":"refused"' in result, result
        # The very file works where neither the mount nor the process forbids it.
        lent = shutil.copy(world.probe, "/usr/local/bin/agenttier-probe-" + uuid.uuid4().hex[:8])
        try:
            os.chmod(lent, 0o4755)
            done = subprocess.run(["setpriv", "--reuid", "1000", "--clear-groups", lent, "effective_user"],
                                  capture_output=True, text=True)
            assert '"outcome":"done"' in done.stdout, done
        finally:
            os.unlink(lent)
    finally:
        planted.unlink()


def test_a_device_node_on_its_volume_does_not_open(world, closed):
    planted = volume_of(world, closed) / "device"
    os.mknod(planted, 0o60666, os.makedev(7, 0))  # a disk
    os.chown(planted, 1000, 1000)
    try:
        assert closed.probe("open_planted_device", "/workspace/device")["outcome"] == "refused"
        assert world.on_host("open_planted_device", "/dev/loop0")["outcome"] == "done"
        # Nor through the API: it answers, at once and with an error.
        assert closed.http.get(f"/sandboxes/{closed.name}/files/workspace/device").status_code in (400, 403)
    finally:
        planted.unlink()


def volume_of(world, attacked):
    """The folder of the host that is the sandbox's workspace."""
    name = f"at-mark-{uuid.uuid4().hex}"
    attacked.write(f"/workspace/{name}", b"")
    found = list(pathlib.Path(world.server.state_dir).glob(f"volumes/*/data/{name}"))
    assert len(found) == 1, found
    found[0].unlink()
    return found[0].parent


def test_its_status_says_that_it_has_no_privileges(closed):
    status = closed.out("cat /proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0
    assert closed.out("id -u") == "1000\n"


@pytest.fixture(scope="module")
def offering(world):
    """A sandbox of which a program holds what another would look for."""
    made = Attacked(world, "native")
    name, key = "at-shared-" + uuid.uuid4().hex[:8], "77001"
    made.exec(f"tail -f /dev/null | nohup /workspace/probe offer_shared {name} {key} "
              f">/workspace/offered 2>&1 &", timeout=10)
    eventually(lambda: b"offered" in made.read("/workspace/offered"), 10, "the offer")
    made.shared_name, made.shared_key = name, key
    yield made
    made.delete()


def test_processes_of_other_sandboxes_are_not_seen(closed, offering):
    assert offering.probe("see_process", offering.shared_name)["outcome"] == "done"
    assert closed.probe("see_process", offering.shared_name)["outcome"] == "refused"


def test_processes_of_other_sandboxes_are_not_signalled(world, closed, offering):
    # By the number that the process has on the host, as far as the kernel of the sandbox looks.
    found = [pid for pid in os.listdir("/proc") if pid.isdigit() and
             offering.shared_name.encode() in command_line(pid) and b"offer_shared" in command_line(pid)]
    assert found
    for pid in found:
        assert world.on_host("signal_process", pid)["outcome"] == "done"
        assert closed.probe("signal_process", pid)["outcome"] == "refused"


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("attempt", ["join_abstract_socket {name}", "join_shared_memory {key}",
                                     "join_message_queue {name}"], ids=attempts.title)
def test_across_sandboxes(closed, offering, attempt):
    words = attempt.format(name=offering.shared_name, key=offering.shared_key).split()
    assert offering.probe(*words)["outcome"] == "done"
    assert closed.probe(*words)["outcome"] == "refused"


def test_signals_from_inside_do_not_end_the_runtime(victim):
    victim.write("/workspace/kept", b"kept")
    victim.http.post(f"/sandboxes/{victim.name}/exec",
                     json={"command": "kill -KILL 1; kill -STOP 1; kill -KILL -1", "timeout": 10})
    if victim.runtime_class == "gvisor":
        # Its kernel does not spare pid 1: a sandbox may end itself, and is started again as it was.
        eventually(lambda: victim.http.post(f"/sandboxes/{victim.name}/exec",
                                            json={"command": "true"}).status_code == 200, 60)
    assert victim.out("echo alive") == "alive\n"
    assert victim.read("/workspace/kept") == b"kept"


def test_the_runtime_refuses_callers_inside(closed):
    reply = closed.out("""bash -c 'exec 3<>/dev/tcp/127.0.0.1/9000
        printf "POST /v1/exec HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n{}" >&3
        head -1 <&3'""")
    assert " 401 " in reply


def test_the_table_in_the_documentation_has_every_attempt_and_its_outcomes():
    rows = {}
    for line in (ROOT / "docs" / "isolation.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells
    assert set(rows) == {attempt.split()[0] for attempt in attempts.ALL}
    for attempt in attempts.ALL:
        _, _, native, gvisor, host, _ = rows[attempt.split()[0]]
        assert native == "refused"
        assert gvisor == ("without effect" if attempt in attempts.WITHOUT_EFFECT_IN_GVISOR else "refused")
        assert host == ("works" if attempt in attempts.WORK_ON_HOST else "—")
