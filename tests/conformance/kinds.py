"""The kinds that both servers keep, and the smallest good object of each."""

import copy
import uuid
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    name: str  # "Pod"
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    custom: bool = False  # defined by one of our CRDs
    status: bool = False  # has the subresource
    body: dict = field(default_factory=dict)  # besides apiVersion, kind and metadata

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self):
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, ns, name=None, subresource=None):
        parts = [self.root]
        if self.namespaced and ns:
            parts += ["namespaces", ns]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)

    def object(self, name=None, /, **more):
        """A new object; `metadata` is merged, other members replace those of the smallest one."""
        body = {"apiVersion": self.api_version, "kind": self.name, "metadata": {}}
        body.update(copy.deepcopy(self.body))
        body["metadata"]["name"] = name or unique(self.name.lower())
        metadata = more.pop("metadata", {})
        body["metadata"].update(metadata)
        if "generateName" in metadata:
            del body["metadata"]["name"]
        body.update(more)
        return body


def unique(prefix="x"):
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def ours(name, plural, **more):
    return Kind(name, plural, "agenttier.io", "v1alpha1", custom=True, **more)


SANDBOX = ours("Sandbox", "sandboxes", status=True,
               body={"spec": {"templateRef": {"name": "minimal"}}})
TEMPLATE = ours("SandboxTemplate", "sandboxtemplates",
                body={"spec": {"image": {"repository": "example/image"}}})
CLUSTER_TEMPLATE = ours("ClusterSandboxTemplate", "clustersandboxtemplates", namespaced=False,
                        body={"spec": {"image": {"repository": "example/image"}}})
POD = Kind("Pod", "pods", status=True,
           body={"spec": {"containers": [{"name": "main", "image": "busybox"}]}})
CLAIM = Kind("PersistentVolumeClaim", "persistentvolumeclaims", status=True, body={
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
POLICY = Kind("NetworkPolicy", "networkpolicies", "networking.k8s.io",
              body={"spec": {"podSelector": {}}})
SECRET = Kind("Secret", "secrets", body={"data": {"key": "dmFsdWU="}})
CONFIG_MAP = Kind("ConfigMap", "configmaps", body={"data": {"key": "value"}})
EVENT = Kind("Event", "events", body={
    "involvedObject": {"kind": "Pod", "name": "x"}, "reason": "Tested", "message": "It was.",
    "type": "Normal", "source": {"component": "conformance"}})
NAMESPACE = Kind("Namespace", "namespaces", namespaced=False, status=True)
NODE = Kind("Node", "nodes", namespaced=False, status=True)
LEASE = Kind("Lease", "leases", "coordination.k8s.io",
             body={"spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}})
SERVICE = Kind("Service", "services", status=True,
               body={"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}})

KINDS = [SANDBOX, TEMPLATE, CLUSTER_TEMPLATE, POD, CLAIM, POLICY, SECRET, CONFIG_MAP, EVENT,
         NAMESPACE, NODE, LEASE, SERVICE]


def object_of(kind, ns, name=None, /, **more):
    """As Kind.object, and right for the namespace: an Event is of an object in its own."""
    body = kind.object(name, **more)
    if kind is EVENT:
        body["involvedObject"]["namespace"] = ns
    return body
