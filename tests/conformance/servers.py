"""The two servers that answer the same requests: our store, and etcd with a kube-apiserver."""

import base64
import pathlib
import secrets
import signal
import socket
import ssl
import subprocess

import httpx
import yaml

from harness import BIN, ROOT, eventually

CRDS = ROOT / "charts" / "agenttier" / "crds"
BUILD = ROOT / "tests" / "cluster" / "build_kubernetes.sh"
START_SECONDS = 90
STOP_SECONDS = 20
WATCH_EVENTS = 200  # that our store remembers of each kind
BOOKMARK_MILLISECONDS = 500
SANDBOXES = "/apis/agenttier.io/v1alpha1/namespaces/default/sandboxes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Processes:
    """Programs that were started, each with a log; ended by their pids, the last one first."""

    def __init__(self, folder):
        self.folder, self.running = folder, []

    def start(self, name, *arguments, **more):
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL,
                                       stderr=log, start_new_session=True,
                                       **{"stdout": log, **more})
        self.running.append((name, process))
        return process

    def check(self):
        for name, process in self.running:
            if process.poll() is not None:
                raise AssertionError(f"{name} ended with {process.returncode}: {self.log(name)}")

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def stop(self):
        for _, process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.running.clear()


class OurServer:
    """The store alone: nothing acts on its objects but itself."""

    name = "ours"

    def __init__(self, folder):
        self.processes = Processes(folder)
        self.folder = folder
        self.binary = BIN / "store_server"

    def __enter__(self):
        assert self.binary.exists(), f"{self.binary} is not built: ninja -C build/test store_server"
        process = self.processes.start(
            "store_server", self.binary, self.folder / "store", WATCH_EVENTS,
            BOOKMARK_MILLISECONDS, stdout=subprocess.PIPE)
        self.url = process.stdout.readline().decode().strip()
        if not self.url:
            process.wait()
            self.processes.check()
        return self

    def __exit__(self, *_):
        _, process = self.processes.running[-1]
        self.processes.check()
        self.processes.stop()
        assert process.returncode == 0, f"store_server ended with {process.returncode}: " \
            + self.processes.log("store_server")

    def http(self):
        return httpx.Client(base_url=self.url, timeout=60)

    def compact(self, api):
        """Makes the server forget the earlier changes of Leases: more came than it remembers."""
        made = api.ok("POST", LEASES, {"metadata": {"generateName": "filler-"}})
        path = f"{LEASES}/{made['metadata']['name']}"
        for number in range(WATCH_EVENTS + 1):
            api.ok("PATCH", path, {"metadata": {"labels": {"n": str(number)}}})
        api.ok("DELETE", path)


class RealServer:
    """etcd, kube-apiserver, and of the controllers those that a kube-apiserver is not whole without.

    Admission plugins that need controllers which do not run here are off: ServiceAccount (accounts
    and their tokens) and StorageObjectInUseProtection (its finalizer would never be removed).
    """

    name = "real"

    def __init__(self, folder):
        self.folder, self.processes = folder, Processes(folder)

    def __enter__(self):
        names = ["etcd", "kube-apiserver", "kube-controller-manager"]
        built = subprocess.run([str(BUILD), *names], check=True, stdout=subprocess.PIPE)
        self.programs = pathlib.Path(built.stdout.decode().strip())
        try:
            self.start()
        except BaseException:
            self.processes.stop()
            raise
        return self

    def __exit__(self, *_):
        self.processes.stop()

    def start(self):
        etcd, peer, port = free_ports(3)
        self.etcd_url, self.url = f"http://127.0.0.1:{etcd}", f"https://127.0.0.1:{port}"
        self.token = secrets.token_hex(16)
        (self.folder / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
        key = self.folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True,
                       capture_output=True)
        self.start_etcd(peer)
        self.start_apiserver(port, key)
        eventually(self.is_ready, START_SECONDS, "a ready kube-apiserver")
        self.install_crds()
        self.start_controllers()  # after the kinds: the collector looks for new ones rarely
        self.leave_orphan()
        eventually(self.collects_garbage, START_SECONDS, "a running garbage collector")

    def start_etcd(self, peer):
        peer_url = f"http://127.0.0.1:{peer}"
        self.processes.start(
            "etcd", self.programs / "etcd", "--data-dir", self.folder / "etcd",
            "--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url,
            "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
            "--initial-cluster", f"default={peer_url}", "--unsafe-no-fsync")

    def start_apiserver(self, port, key):
        self.processes.start(
            "kube-apiserver", self.programs / "kube-apiserver", "--etcd-servers", self.etcd_url,
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={port}",
            "--endpoint-reconciler-type=none", "--cert-dir", self.folder / "certs",
            "--token-auth-file", self.folder / "tokens.csv", "--authorization-mode=RBAC",
            "--service-account-key-file", key, "--service-account-signing-key-file", key,
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged",
            "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection",
            # Leases are read from etcd itself, where a test can compact what is past.
            "--watch-cache-sizes=leases.coordination.k8s.io#0")

    def start_controllers(self):
        certificate = (self.folder / "certs" / "apiserver.crt").read_bytes()
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {
                "server": self.url,
                "certificate-authority-data": base64.b64encode(certificate).decode()}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
        path = self.folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        self.processes.start(
            "kube-controller-manager", self.programs / "kube-controller-manager",
            "--kubeconfig", path, "--leader-elect=false", "--secure-port=0",
            "--controllers=garbage-collector-controller,namespace-controller",
            "--kube-api-qps=1000", "--kube-api-burst=1000", "--concurrent-gc-syncs=4")

    def install_crds(self):
        with self.http() as http:
            for path in sorted(CRDS.glob("*.yaml")):
                crd = yaml.safe_load(path.read_text())
                reply = http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=crd)
                assert reply.status_code == 201, reply.text
                name = crd["spec"]["names"]["plural"]
                eventually(lambda: http.get(f"/apis/agenttier.io/v1alpha1/{name}").status_code == 200,
                           START_SECONDS, f"{name} served")

    def is_ready(self):
        self.processes.check()
        if not (self.folder / "certs" / "apiserver.crt").exists():
            return False
        try:
            with self.http() as http:
                return http.get("/readyz").status_code == 200
        except (httpx.TransportError, ssl.SSLError):
            return False

    def leave_orphan(self):
        reference = {"apiVersion": "agenttier.io/v1alpha1", "kind": "Sandbox", "name": "nobody",
                     "uid": "00000000-0000-0000-0000-000000000000"}
        with self.http() as http:
            reply = http.post(SANDBOXES, json={
                "apiVersion": "agenttier.io/v1alpha1", "kind": "Sandbox",
                "metadata": {"name": "orphan", "ownerReferences": [reference]}})
            assert reply.status_code == 201, reply.text

    def collects_garbage(self):
        self.processes.check()
        with self.http() as http:
            return http.get(f"{SANDBOXES}/orphan").status_code == 404

    def http(self):
        context = ssl.create_default_context(cafile=str(self.folder / "certs" / "apiserver.crt"))
        return httpx.Client(base_url=self.url, timeout=60, verify=context,
                            headers={"Authorization": f"Bearer {self.token}"})

    def compact(self, api):
        """Makes etcd forget what is older than now."""
        made = api.ok("POST", LEASES, {"metadata": {"generateName": "filler-"}})
        api.ok("DELETE", f"{LEASES}/{made['metadata']['name']}")
        reply = httpx.post(f"{self.etcd_url}/v3/kv/compaction", json={
            "revision": api.ok("GET", LEASES)["metadata"]["resourceVersion"], "physical": True})
        assert reply.status_code == 200, reply.text
