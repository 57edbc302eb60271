"""Drives a real `agenttier up`: start, kill, restart, and a count of what it leaves on the machine."""

import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import uuid

import httpx

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("AGENTTIER_BIN", ROOT / "build" / "test" / "bin"))
IMAGES = ROOT / "build" / "images"
START_SECONDS = 60
# What a sandbox runs under: what the node starts by itself (crun or runc), or gVisor.
RUNTIME_CLASSES = ("native", "gvisor")


def eventually(check, seconds=30.0, what="the expected state"):
    """Returns the first true value of check(); fails after the time limit with the last value."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {seconds} s; last: {value!r}"
        pause.wait(0.02)


def asking_for(runtime_class):
    """What a request to create says of it."""
    return {} if runtime_class == "native" else {"runtimeClass": runtime_class}


class Sandbox:
    def __init__(self, server, name):
        self.server, self.name = server, name
        self.http = server.client()

    def get(self):
        return self.http.get(f"/sandboxes/{self.name}")

    def phase(self):
        reply = self.get()
        return None if reply.status_code == 404 else reply.json()["status"]

    def exec(self, command, **more):
        reply = self.http.post(f"/sandboxes/{self.name}/exec", json={"command": command, **more})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def out(self, command, **more):
        result = self.exec(command, **more)
        assert result["exitCode"] == 0, result
        return result["stdout"]

    def write(self, path, data):
        reply = self.http.put(f"/sandboxes/{self.name}/files{path}", content=data)
        assert reply.status_code == 201, reply.text

    def read(self, path):
        reply = self.http.get(f"/sandboxes/{self.name}/files{path}")
        assert reply.status_code == 200, reply.text
        return reply.content

    def stop(self):
        reply = self.http.post(f"/sandboxes/{self.name}/stop")
        assert reply.status_code == 200, reply.text
        self.wait("Stopped")

    def resume(self):
        reply = self.http.post(f"/sandboxes/{self.name}/resume")
        assert reply.status_code == 200, reply.text
        self.wait("Running")

    def wait(self, phase, seconds=60.0):
        eventually(lambda: self.phase() == phase, seconds, f"{self.name} in phase {phase}")

    def delete(self):
        reply = self.http.delete(f"/sandboxes/{self.name}")
        assert reply.status_code in (204, 404), reply.text
        eventually(lambda: self.phase() is None, 60, f"{self.name} gone")


class Server:
    """One `agenttier up` on its own state folder and a free port."""

    launcher = ()           # a command that runs the command behind it, in a namespace for example
    listens_at = "127.0.0.1"
    reached_at = None       # where the tests find it, if that is elsewhere

    def __init__(self, state_dir, *arguments):
        self.state_dir = pathlib.Path(state_dir)
        self.arguments = arguments
        self.process = None
        self.log_path = self.state_dir / "server.log"
        with socket.socket() as probe:  # the same port over restarts
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for sandbox in self.list_names():
            self.client().delete(f"/sandboxes/{sandbox}")
        eventually(lambda: not self.list_names(), 120, "no sandbox left")
        self.stop()

    def start(self):
        url_file = self.state_dir / "api.url"
        url_file.unlink(missing_ok=True)
        environment = dict(os.environ, AGENTTIER_CONFIG=str(self.state_dir / "cli.json"))
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [*self.launcher, str(BIN / "agenttier"), "up", "--state-dir", str(self.state_dir),
             "--listen", f"{self.listens_at}:{self.port}", "--images", str(IMAGES), *self.arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True)
        log.close()

        def started():
            assert self.process.poll() is None, f"the server ended: {self.log_tail()}"
            return url_file.exists() and url_file.read_text().strip()

        self.url = eventually(started, START_SECONDS, "the server's address")
        if self.reached_at:
            self.url = f"http://{self.reached_at}:{self.port}"
        self.key = (self.state_dir / "admin.key").read_text().strip()

    def log_tail(self, size=4000):
        return self.log_path.read_text(errors="replace")[-size:]

    def kill(self):
        """kill -9 of the server alone; sandboxes go on."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=30)
            assert self.process.returncode == 0, self.log_tail()

    def client(self, key=None):
        return httpx.Client(base_url=self.url + "/api/v1", timeout=120,
                            headers={"X-API-Key": key or self.key})

    def list_names(self):
        return [s["name"] for s in self.client().get("/sandboxes").json()["sandboxes"]]

    def create(self, name=None, template="minimal", **more):
        name = name or "t-" + uuid.uuid4().hex[:10]
        reply = self.client().post("/sandboxes?wait=running", json={
            "name": name, "templateRef": {"name": template, "kind": "ClusterSandboxTemplate"}, **more})
        assert reply.status_code == 201, reply.text
        made = Sandbox(self, name)
        assert made.phase() == "Running", made.get().text
        return made

    def cli(self, *arguments, stdin="", timeout=120, env=None):
        environment = dict(os.environ, AGENTTIER_CONFIG=str(self.state_dir / "cli.json"), **(env or {}))
        return subprocess.run([str(BIN / "agenttier"), *arguments], input=stdin, text=True,
                              capture_output=True, timeout=timeout, env=environment)


# Networks that the node agent makes ahead of the next sandboxes.
SPARE_NETWORKS = 2


def _network_instance(state_dir):
    """The five hex digits in the names of a server's interfaces and tables (FNV-1a of its folder)."""
    digest = 2166136261
    for byte in f"{state_dir}/network".encode():
        digest = (digest ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{digest & 0xFFFFF:05x}"


def _children(path):
    return [child.name for child in path.iterdir()] if path.is_dir() else []


def machine_state(state_dir):
    """What this server's sandboxes use of the machine, counted: equal before and after means that
    nothing leaked. Networks made ahead count too: wait for at_rest() before the first look."""
    state = pathlib.Path(state_dir)
    instance = _network_instance(state_dir)
    cgroup = "agenttier-" + hashlib.sha256(str(state).encode()).hexdigest()[:8]
    mounts = [line.split()[1] for line in open("/proc/self/mounts") if str(state) in line]
    links = json.loads(subprocess.run(["ip", "-j", "link"], capture_output=True, text=True).stdout or "[]")
    cgroups, processes = [], set()
    for root, _, _ in os.walk("/sys/fs/cgroup"):
        if f"/{cgroup}/" not in root:
            continue
        cgroups.append(root)
        try:
            processes.update(pathlib.Path(root, "cgroup.procs").read_text().split())
        except OSError:
            pass
    rules = subprocess.run(["nft", "list", "table", "inet", f"agenttier_{instance}"],
                           capture_output=True, text=True).stdout
    return {
        "mounts": len([m for m in mounts if "/sandboxes/" in m or "/volumes/" in m]),
        "veths": len([k for k in links if k["ifname"].startswith(f"at{instance}-")]),
        "namespaces": len(_children(state / "network" / "netns")),
        "cgroups": len(cgroups),
        "rules": rules.count("\n"),
        "folders": sum(len(_children(state / part)) for part in ("sandboxes", "volumes", "runc", "crun", "runsc")),
        "processes": len(processes),
    }


def at_rest(state_dir):
    """The machine's state once the networks made ahead are there."""
    eventually(lambda: len(_children(pathlib.Path(state_dir) / "network" / "netns")) == SPARE_NETWORKS, 30,
               "the networks made ahead")
    return machine_state(state_dir)
