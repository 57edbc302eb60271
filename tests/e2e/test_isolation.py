"""What hostile code in a sandbox must not be able to do."""

import pytest


def fails(sandbox, command):
    result = sandbox.exec(command, timeout=20)
    assert result["exitCode"] != 0, result
    return result


@pytest.mark.parametrize("command", [
    "touch /etc/x", "touch /usr/x", "mount -t tmpfs none /mnt", "unshare -Ur true", "chroot / true",
    "mknod /tmp/d c 1 3", "hostname other", "cat /dev/sda", "dmesg", "echo 1 > /proc/sys/kernel/panic",
    "cat /proc/1/environ | tr '\\0' '\\n' | grep -q '^AGENTTIER_RUNTIME_TOKEN='",
])
def test_the_system_is_closed_to_it(sandbox, command):
    fails(sandbox, command)


def test_it_runs_without_privileges(sandbox):
    status = sandbox.out("cat /proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"].strip() == "1"
    assert int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0
    assert fields["Seccomp"].strip() == "2"


def test_it_sees_only_its_own_processes(server, sandbox):
    other = server.create()
    try:
        other.out("nohup sleep 54321 >/dev/null 2>&1 & true")
        assert "54321" not in sandbox.out("cat /proc/*/cmdline | tr '\\0' ' '")
    finally:
        other.delete()


def reachable(sandbox, address, port):
    script = f"timeout 2 bash -c 'exec 3<>/dev/tcp/{address}/{port}' 2>/dev/null && echo open || echo closed"
    return sandbox.out(script, timeout=20).strip() == "open"


def test_the_network_is_closed(server, sandbox):
    other = server.create()
    try:
        addresses = sandbox.out("cat /proc/net/fib_trie").split()
        own = [a for a in addresses if a.count(".") == 3 and not a.startswith(("127.", "0."))]
        gateway = ".".join(own[0].split(".")[:3]) + ".1"
        other_ip = server.client().get(f"/sandboxes/{other.name}").json()["podIP"]
        for address, port in ((gateway, server.port), ("127.0.0.1", server.port), (other_ip, 9000),
                              ("169.254.169.254", 80)):
            assert not reachable(sandbox, address, port), (address, port)
    finally:
        other.delete()


def test_pid_1_cannot_be_killed_from_inside(sandbox):
    sandbox.exec("kill -9 1; kill -TERM -1")
    assert sandbox.out("echo alive") == "alive\n"


def test_the_runtime_refuses_callers_inside(sandbox):
    reply = sandbox.out("""bash -c 'exec 3<>/dev/tcp/127.0.0.1/9000
        printf "POST /v1/exec HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n{}" >&3
        head -1 <&3'""")
    assert " 401 " in reply


def test_a_fork_bomb_hurts_no_neighbour(server, sandbox):
    # The bomb's own call may run into its time limit: what counts is everybody else.
    sandbox.http.post(f"/sandboxes/{sandbox.name}/exec",
                      json={"command": "bomb() { bomb | bomb & }; bomb", "timeout": 3})
    other = server.create()
    assert other.out("echo fine") == "fine\n"
    other.delete()


def test_memory_is_limited(server):
    made = server.create(resources={"limits": {"memory": "128Mi", "cpu": "1"}})
    try:
        result = made.exec("head -c 400m /dev/zero | tail -c 399m | wc -c", timeout=60)
        assert result["exitCode"] != 0 or "418381824" not in result["stdout"]
        assert made.out("echo fine") == "fine\n"
    finally:
        made.delete()
