#!/usr/bin/env python3
"""Measures a release build of `agenttier up` on this machine: latency, throughput, memory.

Prints a table with the machine and the commit, and writes the same as JSON to build/bench.json.
Only the standard library, so that the client costs the same on every machine.
"""

import argparse
import http.client
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("AGENTTIER_BIN", str(ROOT / "build" / "release" / "bin"))

TEMPLATE = {"name": "minimal", "kind": "ClusterSandboxTemplate"}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Connection:
    """One kept-alive connection that speaks JSON."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.headers = {"X-API-Key": server.key, "Content-Type": "application/json"}

    def __call__(self, method, path, body=None):
        self.connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body), self.headers)
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status >= 400:
            raise RuntimeError(f"{method} {path}: {reply.status} {data[:200]!r}")
        return json.loads(data) if data else None


def timed(action):
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def runtime_pids():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/.agenttier/runtime"):
                yield pid
        except OSError:
            continue


class Bench:
    def __init__(self, server, arguments):
        self.server, self.arguments, self.rows = server, arguments, []
        self.api = Connection(server)

    def row(self, name, value, unit, budget=""):
        self.rows.append({"name": name, "value": round(value, 2), "unit": unit, "budget": budget})
        print(f"  {name:46s} {value:10.2f} {unit:8s} {budget}", flush=True)

    def create_to_first_result(self):
        totals, names = [], []
        for number in range(self.arguments.creates):
            name = f"bench-{number}"

            def once():
                self.api("POST", "/sandboxes?wait=running", {"name": name, "templateRef": TEMPLATE})
                self.api("POST", f"/sandboxes/{name}/exec", {"command": "true"})

            totals.append(timed(once))
            names.append(name)
            if len(names) > 20:
                self.api("DELETE", "/sandboxes/" + names.pop(0))
        self.row("create to first command's result, p50", statistics.median(totals), "ms", "<= 50")
        self.row("create to first command's result, p99", percentile(totals, 0.99), "ms", "<= 150")
        return names

    def exec_latency(self, name):
        run = lambda: self.api("POST", f"/sandboxes/{name}/exec", {"command": "true"})  # noqa: E731
        times = [timed(run) for _ in range(self.arguments.execs)]
        self.row("exec true, 1 client, p50", statistics.median(times), "ms", "<= 2.5")
        self.row("exec true, 1 client, p99", percentile(times, 0.99), "ms")

    def exec_throughput(self, names):
        count, lock = [0], threading.Lock()
        total = self.arguments.execs * 2

        def worker():
            api = Connection(self.server)
            while True:
                with lock:
                    if count[0] >= total:
                        return
                    count[0] += 1
                    name = names[count[0] % len(names)]
                api("POST", f"/sandboxes/{name}/exec", {"command": "true"})

        threads = [threading.Thread(target=worker) for _ in range(8)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.row("exec true, 8 clients", total / (time.perf_counter() - start), "/s", ">= 1200")

    def files(self, name):
        size = self.arguments.file_mib << 20
        piece = os.urandom(1 << 20)

        class Source:
            def __init__(self):
                self.left = size

            def read(self, count=-1):
                take = min(len(piece), self.left, count if count > 0 else len(piece))
                self.left -= take
                return piece[:take]

        before = resident_mib(self.server.process.pid)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600, blocksize=1 << 20)
        path = f"/api/v1/sandboxes/{name}/files/workspace/large"
        start = time.perf_counter()
        connection.request("PUT", path, Source(), {"X-API-Key": self.server.key, "Content-Length": str(size)})
        reply = connection.getresponse()
        assert reply.status == 201, reply.read()
        reply.read()
        self.row(f"file up, {self.arguments.file_mib} MiB", self.arguments.file_mib / (time.perf_counter() - start), "MiB/s", ">= 300")
        start, got = time.perf_counter(), 0
        connection.request("GET", path, headers={"X-API-Key": self.server.key})
        reply = connection.getresponse()
        while data := reply.read(1 << 20):
            got += len(data)
        assert got == size, got
        self.row(f"file down, {self.arguments.file_mib} MiB", self.arguments.file_mib / (time.perf_counter() - start), "MiB/s", ">= 300")
        self.row("memory that the transfer added", resident_mib(self.server.process.pid) - before, "MiB")

    def memory(self):
        self.row("agenttier up, 20 sandboxes, resident", resident_mib(self.server.process.pid), "MiB", "<= 60")
        sizes = [resident_mib(pid) for pid in runtime_pids()]
        if sizes:
            self.row("runtime, resident, largest", max(sizes), "MiB", "<= 3")

    def listing(self):
        times = [timed(lambda: self.api("GET", "/sandboxes")) for _ in range(100)]
        self.row("list 20 sandboxes, p50", statistics.median(times), "ms")

    def run(self):
        names = self.create_to_first_result()
        self.exec_latency(names[0])
        self.exec_throughput(names)
        self.listing()
        self.memory()
        self.files(names[0])


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} x {model}, {memory} GiB, Linux {platform.release()}"


def main():
    from harness import Server

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--creates", type=int, default=120)
    parser.add_argument("--execs", type=int, default=1000)
    parser.add_argument("--file-mib", type=int, default=1024)
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"machine: {machine()}\ncommit:  {commit}")
    with tempfile.TemporaryDirectory(prefix="agenttier-bench-") as folder, Server(folder) as server:
        bench = Bench(server, arguments)
        bench.run()
    result = {"machine": machine(), "commit": commit, "rows": bench.rows}
    (ROOT / "build" / "bench.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
