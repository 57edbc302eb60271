"""kill -9 of the server at random moments: nothing answered is lost, nothing is left behind.

A driver makes, stops, resumes and deletes sandboxes while a killer ends and restarts the server. The
driver keeps a model: for each sandbox what was last answered, and what was asked without an answer.
At the end each sandbox must be in one of the states the model allows, each file whose write was
answered before a stop must be there, and the machine must hold nothing more than before.
"""

import os
import random
import threading

import httpx
import pytest

from harness import Server, at_rest, eventually, machine_state

OPERATIONS = int(os.environ.get("AGENTTIER_CRASH_OPERATIONS", "200"))
SEED = int(os.environ.get("AGENTTIER_CRASH_SEED", "20261130"))
TEMPLATE = {"name": "minimal", "kind": "ClusterSandboxTemplate"}
GONE = "gone"


class Killer(threading.Thread):
    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.server, self.random = server, random.Random(seed)
        self.done, self.kills, self.failure = threading.Event(), 0, None

    def run(self):
        try:
            while not self.done.wait(self.random.uniform(0.05, 1.5)):
                self.server.kill()
                self.kills += 1
                self.server.start()
        except BaseException as failure:  # noqa: BLE001 - shown by the test
            self.failure = failure


class Driver:
    def __init__(self, server, seed):
        self.server, self.random = server, random.Random(seed)
        self.allowed = {}   # name → set of final states
        self.files = {}     # name → contents that must be there
        self.count = 0

    def call(self, method, path, **more):
        """The answer, or None if the server was not there for it."""
        try:
            with self.server.client() as api:
                return api.request(method, path, timeout=60, **more)
        except httpx.HTTPError:
            return None

    def step(self):
        live = [n for n, s in self.allowed.items() if GONE not in s]
        choice = self.random.random()
        if len(live) < 3 or choice < 0.35 and len(live) < 12:
            self.create()
        elif choice < 0.75:
            self.stop_or_resume(self.random.choice(live))
        else:
            self.delete(self.random.choice(live))

    def create(self):
        self.count += 1
        name = f"crash-{self.count}"
        reply = self.call("POST", "/sandboxes", json={"name": name, "templateRef": TEMPLATE})
        if reply is None:
            self.allowed[name] = {"Running", GONE}
            return
        assert reply.status_code in (201, 503), reply.text
        self.allowed[name] = {"Running"} if reply.status_code == 201 else {"Running", GONE}
        if self.random.random() < 0.5:
            self.write(name)

    def write(self, name):
        content = f"{name}-{self.random.random()}"
        reply = self.call("PUT", f"/sandboxes/{name}/files/workspace/kept", content=content)
        if reply is not None and reply.status_code == 201:
            self.files[name] = {content}
        elif reply is None and name in self.files:
            self.files[name].add(content)

    def stop_or_resume(self, name):
        action, goal = self.random.choice([("stop", "Stopped"), ("resume", "Running")])
        if action == "stop" and self.random.random() < 0.7:
            self.write(name)
        reply = self.call("POST", f"/sandboxes/{name}/{action}")
        if reply is None or reply.status_code == 503:
            self.allowed[name] = self.allowed[name] | {goal}
        elif reply.status_code == 200:
            self.allowed[name] = {goal}
        elif reply.status_code == 404:
            assert GONE in self.allowed[name], f"{name} was lost"
            self.allowed[name] = {GONE}
        else:
            assert reply.status_code == 409, reply.text

    def delete(self, name):
        reply = self.call("DELETE", f"/sandboxes/{name}")
        if reply is None or reply.status_code == 503:
            self.allowed[name] = self.allowed[name] | {GONE}
        else:
            assert reply.status_code in (204, 404), reply.text
            if reply.status_code == 404:
                assert GONE in self.allowed[name], f"{name} was lost"
            self.allowed[name] = {GONE}


def settled(server):
    """All sandboxes as {name: phase} once each is Running or Stopped, else None."""
    try:
        phases = {s["name"]: s["status"] for s in server.client().get("/sandboxes").json()["sandboxes"]}
    except httpx.HTTPError:
        return None
    return phases if all(p in ("Running", "Stopped") for p in phases.values()) else False


def phases_of(server):
    eventually(lambda: settled(server) is not None and settled(server) is not False, 180,
               "every sandbox at rest")
    return settled(server)


@pytest.mark.timeout(1500)
def test_kill_9_at_random_moments_loses_and_leaks_nothing(tmp_path):
    server = Server(tmp_path)
    server.start()
    before = at_rest(tmp_path)
    driver, killer = Driver(server, SEED), Killer(server, SEED + 1)
    killer.start()
    for _ in range(OPERATIONS):
        driver.step()
        assert killer.failure is None, killer.failure
    killer.done.set()
    killer.join(120)
    assert killer.failure is None, killer.failure
    if server.process.poll() is not None:
        server.start()

    phases = phases_of(server)
    for name, allowed in driver.allowed.items():
        assert phases.get(name, GONE) in allowed, f"seed {SEED}: {name}: {phases.get(name)} not in {allowed}"
    assert set(phases) <= set(driver.allowed)

    for name, phase in phases.items():
        if name not in driver.files:
            continue
        if phase == "Stopped":
            assert server.client().post(f"/sandboxes/{name}/resume").status_code == 200
            eventually(lambda: server.client().get(f"/sandboxes/{name}").json()["status"] == "Running", 60)
        kept = server.client().get(f"/sandboxes/{name}/files/workspace/kept")
        assert kept.status_code == 200 and kept.text in driver.files[name], f"seed {SEED}: {name}"

    for name in phases:
        assert server.client().delete(f"/sandboxes/{name}").status_code == 204
    eventually(lambda: not server.list_names(), 120, "no sandbox left")
    eventually(lambda: machine_state(tmp_path) == before, 60,
               f"nothing left behind (before: {before})")
    print(f"seed {SEED}: {OPERATIONS} operations, {killer.kills} kills, {driver.count} sandboxes")
    server.stop()


def test_running_processes_survive_a_restart_of_the_server(tmp_path):
    with Server(tmp_path) as server:
        made = server.create()
        pid = made.out("nohup sleep 1000 >/dev/null 2>&1 & echo $!").strip()

        server.kill()
        server.start()

        made = type(made)(server, made.name)
        eventually(lambda: made.phase() == "Running", 10)
        assert made.out(f"kill -0 {pid} && echo alive") == "alive\n"


def test_a_clean_stop_of_the_server_leaves_sandboxes_running(tmp_path):
    with Server(tmp_path) as server:
        made = server.create()
        pid = made.out("nohup sleep 1000 >/dev/null 2>&1 & echo $!").strip()

        server.stop()
        server.start()

        made = type(made)(server, made.name)
        eventually(lambda: made.phase() == "Running", 10)
        assert made.out(f"kill -0 {pid} && echo alive") == "alive\n"
