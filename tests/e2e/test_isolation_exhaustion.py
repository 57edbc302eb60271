"""A sandbox that takes all it can get: its neighbour and the server answer all the while.

The bounds are of liveness, not of speed: an answer within them says that nobody waits for the
attacked sandbox to let go.
"""

import json
import threading
import time

import pytest

from harness import Server, eventually
from isolation_world import run

ANSWER_SECONDS = 20
STOP_SECONDS = 40
ROUNDS = 5
PROCESSES_MAX = 4096


def within(seconds, what, call):
    begin = time.monotonic()
    result = call()
    took = time.monotonic() - begin
    assert took < seconds, f"{what} took {took:.1f} s"
    return result


def check_others(world, neighbour):
    for _ in range(ROUNDS):
        answer = within(ANSWER_SECONDS, "the neighbour's exec", lambda: neighbour.out("echo $((6*7))"))
        assert answer == "42\n"
        within(ANSWER_SECONDS, "the neighbour's write", lambda: neighbour.write("/workspace/n", b"n"))
        reply = within(ANSWER_SECONDS, "the server", lambda: world.server.client().get("/sandboxes"))
        assert reply.status_code == 200


def what_it_took(victim, said):
    """The attack's own words, once it has all that it got."""
    def look():
        reply = victim.http.get(f"/sandboxes/{victim.name}/files{said}", timeout=ANSWER_SECONDS)
        lines = reply.text.strip().splitlines() if reply.status_code == 200 else []
        return lines and lines[0].startswith("{") and json.loads(lines[0])
    return eventually(look, 90, "all that the attack can take")


def answer_of(victim):
    return victim.http.post(f"/sandboxes/{victim.name}/exec", timeout=60,
                            json={"command": "echo alive", "timeout": 5})


def check_it_answers_or_says_why(victim):
    reply = within(60, "its own answer", lambda: answer_of(victim))
    assert reply.status_code == 200 or reply.json()["message"], reply.text


def check_it_stops_and_starts(victim):
    within(STOP_SECONDS, "stop", victim.stop)
    victim.resume()
    assert victim.out("echo back") == "back\n"


@pytest.mark.parametrize("attack", ["hold_processes", "hold_threads", "fork_bomb"])
def test_its_tasks_are_its_own_and_it_still_answers(world, victim, neighbour, attack):
    said = victim.begin(attack)
    if victim.runtime_class == "gvisor":
        # Its kernel has no limit of tasks but the machine's for all of it, and stands still there.
        check_others(world, neighbour)
        check_it_answers_or_says_why(victim)
        return check_it_stops_and_starts(victim)
    took = what_it_took(victim, said)
    assert took["held"] <= PROCESSES_MAX, took
    check_others(world, neighbour)
    # The runtime has tasks in reserve: a program starts, though it can start no other.
    for _ in range(ROUNDS):
        within(ANSWER_SECONDS, "its own exec", lambda: victim.out("echo alive", timeout=15))
    victim.write("/workspace/file", b"written all the same")
    assert victim.read("/workspace/file") == b"written all the same"
    check_it_stops_and_starts(victim)


def test_what_fills_the_reserve_is_told(world, victim):
    """As many programs as the runtime runs at a time, each waiting: the next is refused in words."""
    if victim.runtime_class == "native":
        victim.begin("hold_processes")
    reply = victim.http.post(f"/sandboxes/{victim.name}/exec", json={"command": "true"},
                             timeout=ANSWER_SECONDS)
    assert reply.status_code in (200, 503), reply.text


def test_its_memory_is_its_own(world, victim, neighbour):
    reply = victim.http.post(f"/sandboxes/{victim.name}/exec", timeout=60,
                             json={"command": "/workspace/probe hold_memory", "timeout": 20})
    if victim.runtime_class == "native":
        assert reply.json()["exitCode"] != 0, reply.text
    else:  # its kernel goes with its memory
        assert reply.status_code in (200, 503, 504), reply.text
    check_others(world, neighbour)
    eventually(lambda: answer_of(victim).status_code == 200, 120, "the sandbox after its memory ran out")
    assert victim.out("echo alive") == "alive\n"


def test_its_memory_files_are_its_own(world, victim, neighbour):
    victim.begin("hold_memory_files")
    check_others(world, neighbour)
    within(STOP_SECONDS, "delete", victim.delete)


def test_its_processor_time_is_its_own(world, victim, neighbour):
    what_it_took(victim, victim.begin("hold_processors"))
    check_others(world, neighbour)
    within(ANSWER_SECONDS, "its own exec", lambda: victim.out("echo alive", timeout=15))
    check_it_stops_and_starts(victim)


def test_its_descriptors_are_its_own(world, victim, neighbour):
    victim.begin("hold_descriptors", "16")
    check_others(world, neighbour)
    assert neighbour.probe("make_pipe")["outcome"] == "done"
    within(STOP_SECONDS, "delete", victim.delete)


@pytest.mark.parametrize("attack, need", [("hold_watches", "make_watch"), ("hold_pipes", "make_pipe"),
                                          ("hold_signals", "queue_signal")],
                         ids=["watches", "pipes", "signals"])
def test_what_the_kernel_counts_by_user_is_its_own(world, victim, neighbour, attack, need):
    victim.begin(attack)
    check_others(world, neighbour)
    if attack == "hold_signals" and victim.runtime_class == "native" and not may_queue_freely(world):
        # Without the right to raise it this limit stays shared, and the server says so at its start.
        assert "share one limit of pending signals" in world.server.log_path.read_text()
        return
    for _ in range(ROUNDS):
        assert neighbour.probe(need)["outcome"] == "done"


def may_queue_freely(world):
    limits = open(f"/proc/{world.server.process.pid}/limits").read()
    return any(line.startswith("Max pending signals") and line.split()[3] == "unlimited"
               for line in limits.splitlines())


def test_connections_to_its_own_runtime_keep_nobody_out(world, victim, neighbour):
    what_it_took(victim, victim.begin("hold_connections"))
    check_others(world, neighbour)
    within(ANSWER_SECONDS, "its own exec", lambda: victim.out("echo alive", timeout=15))


def test_a_flood_of_output_is_bounded(world, victim, neighbour):
    def flood():
        with victim.server.client() as api:
            api.post(f"/sandboxes/{victim.name}/exec",
                     json={"command": "/workspace/probe flood_output", "timeout": 15})
    flooding = [threading.Thread(target=flood) for _ in range(3)]
    for thread in flooding:
        thread.start()
    check_others(world, neighbour)
    resident = resident_bytes(world.server.process.pid)
    assert resident < 2 << 30, f"the server holds {resident >> 20} MiB"
    within(STOP_SECONDS, "delete", victim.delete)
    for thread in flooding:
        thread.join(60)


def resident_bytes(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")


@pytest.fixture
def flooding_template(world):
    """A template whose own program writes without end."""
    name = "floods"
    reply = world.server.client().post("/templates", json={"name": name, "spec": {
        "image": {"repository": "agenttier/minimal", "pullPolicy": "IfNotPresent"},
        "resources": {"limits": {"memory": "256Mi", "cpu": "1"}},
        "storage": {"size": "1Gi", "mountPath": "/workspace"},
        "harness": {"command": ["/bin/sh", "-c", "exec yes a line of a log without an end"]}}})
    assert reply.status_code == 201, reply.text
    yield name
    world.server.client().delete(f"/templates/{name}")


LOG_BYTES_MAX = 64 << 20  # two files of 10 MiB for each container, and room to see that it ends


def test_a_flood_of_its_own_log_is_bounded_on_disk(world, neighbour, flooding_template):
    made = world.server.create(template=flooding_template)
    try:
        logs = world.server.state_dir / "sandboxes" / world.pod_uid(made) / "logs"

        def written():
            return sum(file.stat().st_size for file in logs.rglob("*.log*"))
        eventually(lambda: written() > 5 << 20, 60, "a log that grows")
        check_others(world, neighbour)
        assert made.out("echo alive", timeout=15) == "alive\n"
        eventually(lambda: len(list(logs.rglob("*.log.1"))) > 0, 120, "a log that begins anew")
        assert written() < LOG_BYTES_MAX, f"{written() >> 20} MiB of logs"
    finally:
        made.delete()


def test_streams_that_nobody_reads_keep_nobody_out(world, victim, neighbour):
    opened = []
    try:
        for _ in range(20):
            api = victim.server.client()
            context = api.stream("POST", f"/sandboxes/{victim.name}/exec",
                                 headers={"Accept": "application/vnd.agenttier.frames"},
                                 json={"command": "yes | head -c 50000000", "timeout": 60})
            opened.append((context, context.__enter__()))  # and read no further
        check_others(world, neighbour)
        within(ANSWER_SECONDS, "its own exec", lambda: victim.out("echo alive", timeout=15))
    finally:
        for context, _ in opened:
            context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """A server whose state lies on a disk of its own, so that filling it fills nothing else."""
    folder = tmp_path_factory.mktemp("small")
    disk, state = folder / "disk", folder / "state"
    state.mkdir()
    with open(disk, "wb") as file:
        file.truncate(2 << 30)
    run("mkfs.ext4", "-q", "-N", "65536", str(disk))
    run("mount", "-o", "loop", str(disk), str(state))
    try:
        # A network of its own: two servers that start at once may choose the same one.
        with Server(state, "--pod-subnet", "10.250.0.0/16") as server:
            yield server
    finally:
        run("umount", str(state))
        disk.unlink()


@pytest.mark.parametrize("attack", ["hold_disk /workspace/large", "hold_inodes /workspace/many"],
                         ids=["bytes", "files"])
def test_a_full_disk_stops_neither_the_server_nor_others(small_disk, world, attack):
    """Sizes hold where the file system keeps quotas. Where it does not, the server says so at its
    start, and lives on what the file system keeps for root."""
    hog, other = small_disk.create(), small_disk.create()
    try:
        enforced = "volume sizes are not enforced" not in small_disk.log_path.read_text()
        hog.write("/workspace/probe", world.probe.read_bytes())
        other.write("/workspace/before", b"kept")
        hog.exec(f"chmod 755 probe; nohup ./probe {attack} >/dev/shm/said 2>&1 </dev/null &", timeout=20)
        eventually(lambda: "held" in hog.exec("cat /dev/shm/said")["stdout"], 120, "a full disk")
        for _ in range(ROUNDS):
            assert within(ANSWER_SECONDS, "the other's exec", lambda: other.out("cat before")) == "kept"
            reply = within(ANSWER_SECONDS, "the server", lambda: small_disk.client().get("/sandboxes"))
            assert reply.status_code == 200
        reply = other.http.put(f"/sandboxes/{other.name}/files/workspace/more", content=b"x" * 100_000)
        assert reply.status_code == 201 or not enforced and "no space" in reply.text.lower(), reply.text
        within(STOP_SECONDS, "delete", hog.delete)
        eventually(lambda: other.http.put(f"/sandboxes/{other.name}/files/workspace/after",
                                          content=b"y" * 100_000).status_code == 201, 60,
                   "room after the other's end")
    finally:
        hog.delete()
        other.delete()
