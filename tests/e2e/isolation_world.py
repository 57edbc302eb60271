"""A server with an outside world that tests may attack: all of it in network namespaces made here.

    host ── link ── [ server's namespace: agenttier up, its sandboxes ] ── link ── [ outside ]

The server's namespace has a default route to `outside`, which plays the internet and also has the
metadata address. The API listens on every address of its namespace, the pods' gateway included, so
that only the rules keep sandboxes from it.
"""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import uuid

from harness import RUNTIME_CLASSES, Server, asking_for  # noqa: F401 - the classes are for fixtures

METADATA = "169.254.169.254"
INTERNET = "198.51.100.2"  # of a network that is for documentation alone
TCP_PORT, UDP_PORT = 80, 53
PROBE_SOURCES = pathlib.Path(__file__).resolve().parent.parent / "probe"


def run(*words, check=True, seconds=60):
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds)
    assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done


def build_probe(folder):
    """The probe as one static file, which runs in any image."""
    target = folder / "probe"
    compiler = os.environ.get("CXX", "clang++-16")
    run(compiler, "-std=c++20", "-O0", "-static", "-pthread", "-s", "-o", str(target),
        *map(str, sorted(PROBE_SOURCES.glob("*.cc"))), seconds=300)
    return target


class Outside:
    """The program behind the far end of the wire."""

    def __init__(self, namespace):
        script = pathlib.Path(__file__).with_name("outside.py")
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{namespace}", sys.executable, str(script),
             str(TCP_PORT), str(UDP_PORT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.heard = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        assert self.heard.get(timeout=30) == {"ready": True}

    def _read(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))

    def wait_for(self, text, seconds=10):
        """What came before and with the datagram that says `text`."""
        came = []
        while True:
            came.append(self.heard.get(timeout=seconds))
            if came[-1]["said"] == text:
                return came

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.reader.join(10)


class World:
    def __init__(self, folder):
        self.name = f"at-iso-{os.getpid()}"
        self.inner, self.outer = f"{self.name}-s", f"{self.name}-o"
        self.link = f"ati{os.getpid() % 100000}"
        # A network for tests of network equipment; one of its parts for each run at a time.
        self.network = f"198.18.{os.getpid() % 250}"
        self.folder = folder
        self.outside = self.server = None

    def __enter__(self):
        self.probe = build_probe(self.folder)
        try:
            self._wire()
            self.outside = Outside(self.outer)
            state = self.folder / "state"
            state.mkdir()
            native = os.environ.get("AGENTTIER_TEST_NATIVE_RUNTIME")
            self.server = Server(state, *(("--container-runtime", native) if native else ()))
            self.server.launcher = ("nsenter", f"--net=/run/netns/{self.inner}")
            self.server.listens_at = "0.0.0.0"
            self.server.reached_at = f"{self.network}.2"
            self.server.start()
        except BaseException:
            self._unwire()
            raise
        return self

    def __exit__(self, *ending):
        try:
            self.server.__exit__(*ending)
        finally:
            self._unwire()

    def _wire(self):
        for name in (self.inner, self.outer):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "host0", "netns", self.inner)
        run("ip", "address", "add", f"{self.network}.1/30", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        run("ip", "-n", self.inner, "address", "add", f"{self.network}.2/30", "dev", "host0")
        run("ip", "-n", self.inner, "link", "set", "host0", "up")
        run("ip", "-n", self.inner, "link", "add", "out0", "type", "veth", "peer", "name", "in0",
            "netns", self.outer)
        for name, device, address in ((self.inner, "out0", "198.51.100.1/24"),
                                      (self.outer, "in0", f"{INTERNET}/24"),
                                      (self.outer, "lo", f"{METADATA}/32")):
            run("ip", "-n", name, "address", "add", address, "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", self.inner, "route", "add", "default", "via", INTERNET)
        run("ip", "-n", self.inner, "route", "add", f"{METADATA}/32", "via", INTERNET)
        # What is spoofed must be able to arrive: the far side takes and answers any source.
        run("ip", "-n", self.outer, "route", "add", "default", "via", "198.51.100.1")

    def _unwire(self):
        if self.outside:
            self.outside.close()
        run("ip", "link", "delete", self.link, check=False)
        for name in (self.inner, self.outer):
            run("ip", "netns", "delete", name, check=False)

    def pod_uid(self, attacked):
        """The name of the sandbox's folders and control groups on this machine."""
        states = pathlib.Path(self.server.state_dir).glob("sandboxes/*/state.json")
        return next(state.parent.name for state in states
                    if json.loads(state.read_text())["name"] == f"{attacked.name}-pod")

    def on_host(self, *words, where=None, before=()):
        """Runs the probe on the host, as root, in the server's or a given network namespace."""
        done = run("nsenter", f"--net=/run/netns/{where or self.inner}", *before, str(self.probe), *words)
        return json.loads(done.stdout)


class Attacked:
    """A sandbox with the probe in it."""

    def __init__(self, world, runtime_class, **more):
        more.update(asking_for(runtime_class))
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
