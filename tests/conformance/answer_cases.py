"""Requests whose whole answers are compared: defaults, Status objects, deletions, tables, discovery.

A case is a function of an Api and a namespace that makes requests and returns the last Reply.
"""

from client import JSON_PATCH, MERGE, STRATEGIC, TABLE
from kinds import (CLAIM, CLUSTER_TEMPLATE, CONFIG_MAP, EVENT, KINDS, LEASE, NAMESPACE, NODE, POD, POLICY, SANDBOX,
                   SECRET, SERVICE, TEMPLATE, object_of)

CASES = {}


def case(name):
    def add(function):
        assert name not in CASES, name
        CASES[name] = function
        return function
    return add


def creating(name, kind, /, **more):
    """A create of `kind`, its name "x" in the answer."""
    def run(api, ns):
        name = "x" if kind.namespaced else f"x-{ns}"
        return api.call("POST", kind.path(ns), object_of(kind, ns, name, **more))
    CASES[name] = run


def asking(name, method, kind, /, body=None, type=None, object=None, path_name="x", subresource=None, **query):
    """A request about an object "x" of `kind` that was made before, if `object` says so."""
    def run(api, ns):
        own = f"x-{ns}" if not kind.namespaced and path_name == "x" else path_name
        if object is not None:
            api.create(kind, ns, object_of(kind, ns, own, **object))
        return api.call(method, kind.path(ns, own, subresource), body, type, **query)
    CASES[name] = run


def container(**more):
    return {"name": "main", "image": "busybox", **more}


def pod_spec(**more):
    return {"containers": [container()], **more}


# ---- What a create fills in

for kind in KINDS:
    creating(f"default {kind.name}", kind)

creating("default Pod with everything", POD, metadata={"labels": {"app": "x"}}, spec={
    "initContainers": [{"name": "init", "image": "busybox:1.36"}],
    "containers": [
        container(
            image="example.com/app:v1", command=["run"],
            ports=[{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
            env=[{"name": "A", "value": "1"},
                 {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                 {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            resources={"limits": {"cpu": "1", "memory": "1Gi"}},
            livenessProbe={"httpGet": {"port": 80}}, readinessProbe={"exec": {"command": ["true"]}},
            startupProbe={"tcpSocket": {"port": 80}},
            lifecycle={"preStop": {"exec": {"command": ["true"]}}},
            securityContext={"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}},
            volumeMounts=[{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}]),
        {"name": "second", "image": "busybox@sha256:" + "0" * 64, "imagePullPolicy": "Never",
         "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}],
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "tmp", "emptyDir": {}},
        {"name": "secret", "secret": {"secretName": "s"}}, {"name": "config", "configMap": {"name": "c"}},
        {"name": "host", "hostPath": {"path": "/x"}},
        {"name": "down", "downwardAPI": {"items": [
            {"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}]}}],
    "restartPolicy": "Never", "automountServiceAccountToken": False, "hostNetwork": False,
    "securityContext": {"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "terminationGracePeriodSeconds": 5})
creating("default Pod of latest", POD, spec=pod_spec(containers=[container(image="busybox:latest")]))
creating("default Pod of a version", POD, spec=pod_spec(containers=[container(image="busybox:1.36")]))
creating("default Pod of a guaranteed quality", POD, spec=pod_spec(containers=[
    container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})]))
creating("default Sandbox with much", SANDBOX, spec={
    "templateRef": {"name": "minimal"}, "desiredState": "Running", "env": [{"name": "A", "value": "1"}],
    "storage": {"size": "1Gi"}, "resources": {"limits": {"cpu": "1", "memory": 1073741824}},
    "network": {"egressRules": [{"to": [{"cidr": "10.0.0.0/8"}]}]}, "timeout": "1h", "idleTimeout": "30m",
    "forwardedPorts": [{"port": 80}], "createdBy": {"sub": "ann"}})
creating("default Service with ports", SERVICE, spec={"selector": {"a": "b"}, "clusterIP": "None", "ports": [
    {"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP", "targetPort": "dns"}]})
creating("default NetworkPolicy with rules", POLICY, spec={
    "podSelector": {"matchLabels": {"a": "b"}},
    "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}],
    "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}]})
creating("default PersistentVolumeClaim of a class", CLAIM, spec={
    "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem",
    "resources": {"requests": {"storage": "10Gi"}}})
creating("default Secret of a type", SECRET, type="kubernetes.io/basic-auth", data={},
         stringData={"username": "u", "password": "p"})
creating("default ConfigMap of bytes", CONFIG_MAP, data={"a": ""}, binaryData={"b": "AAEC"})
creating("default Event with times", EVENT, firstTimestamp="2026-01-02T03:04:05Z",
         lastTimestamp="2026-01-02T03:04:05Z", count=1)
creating("default Lease with times", LEASE, spec={
    "holderIdentity": "one", "leaseDurationSeconds": 15, "acquireTime": "2026-01-02T03:04:05.000000Z",
    "renewTime": "2026-01-02T03:04:05.123456Z", "leaseTransitions": 0})
creating("default Node with status", NODE, spec={"podCIDR": "10.0.0.0/24"}, status={
    "capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"},
    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}]})

# ---- What is wrong with an object

creating("invalid name", CONFIG_MAP, metadata={"name": "Not_A_Name"})
creating("invalid name of a Sandbox", SANDBOX, metadata={"name": "a.b"})
creating("invalid long name", CONFIG_MAP, metadata={"name": "x" * 254})
creating("invalid Namespace name", NAMESPACE, metadata={"name": "a.b"})
creating("invalid Service name", SERVICE, metadata={"name": "1x"})
creating("invalid labels", CONFIG_MAP, metadata={"labels": {"a b": "1"}})
creating("invalid label value", CONFIG_MAP, metadata={"labels": {"a": "-x-"}})
creating("invalid long label value", SANDBOX, metadata={"labels": {"a": "x" * 64}})
creating("invalid label prefix", SANDBOX, metadata={"labels": {"Not_A/x": "1"}})
creating("invalid annotations", CONFIG_MAP, metadata={"annotations": {"a b": "1"}})
creating("invalid finalizers", SANDBOX, metadata={"finalizers": ["not a name"]})
creating("invalid owners", SECRET, metadata={"ownerReferences": [
    {"apiVersion": "", "kind": "", "name": "", "uid": ""}]})
creating("invalid Sandbox enum", SANDBOX, spec={"desiredState": "Flying"})
creating("invalid Sandbox type", SANDBOX, spec={"templateRef": {"name": 5}})
creating("invalid Sandbox object", SANDBOX, spec={"templateRef": "minimal"})
creating("invalid Sandbox list", SANDBOX, spec={"env": {"a": "b"}})
creating("invalid Sandbox boolean", SANDBOX, spec={"autoResume": "yes"})
creating("invalid Sandbox required", SANDBOX, spec={"templateRef": {}})
creating("invalid Sandbox length", SANDBOX, spec={"templateRef": {"name": ""}})
creating("invalid Sandbox pattern", SANDBOX, spec={"timeout": "an hour"})
creating("invalid Sandbox quantity", SANDBOX, spec={"storage": {"size": "much"}})
creating("invalid Sandbox item", SANDBOX, spec={"env": [{"name": "A"}, {"value": "1"}]})
creating("invalid Sandbox number", SANDBOX, spec={"forwardedPorts": [{"port": 70000}]})
creating("invalid Sandbox many items", SANDBOX, spec={"forwardedPorts": [{"port": n + 1} for n in range(65)]})
creating("invalid Sandbox nothing", SANDBOX, spec=None)
creating("invalid Sandbox of two faults", SANDBOX, spec={"desiredState": "Flying", "timeout": "x"})
creating("invalid Sandbox spec", SANDBOX, spec="x")
creating("invalid Pod without containers", POD, spec={})
creating("invalid Pod with no containers", POD, spec={"containers": []})
creating("invalid Pod container", POD, spec={"containers": [{}]})
creating("invalid Pod container name", POD, spec={"containers": [container(name="Not_A_Name")]})
creating("invalid Pod containers of one name", POD, spec={"containers": [container(), container()]})
creating("invalid Pod image", POD, spec={"containers": [container(image=" x ")]})
creating("invalid Pod mount", POD, spec={"containers": [
    container(volumeMounts=[{"name": "absent", "mountPath": "/x"}])]})
creating("invalid Pod mount path", POD, spec=pod_spec(
    volumes=[{"name": "v", "emptyDir": {}}], containers=[container(volumeMounts=[{"name": "v"}])]))
creating("invalid Pod volumes of one name", POD, spec=pod_spec(
    volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]))
creating("invalid Pod volume name", POD, spec=pod_spec(volumes=[{"emptyDir": {}}]))
creating("invalid Pod restart policy", POD, spec=pod_spec(restartPolicy="Sometimes"))
creating("invalid Pod port", POD, spec={"containers": [container(ports=[{"containerPort": 70000}])]})
creating("invalid Pod variable", POD, spec={"containers": [container(env=[{"value": "1"}])]})
creating("invalid Pod pull policy", POD, spec={"containers": [container(imagePullPolicy="Maybe")]})
creating("invalid Pod resources", POD, spec={"containers": [
    container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]})
creating("invalid Pod grace", POD, spec=pod_spec(terminationGracePeriodSeconds=-1))
creating("invalid Secret data", SECRET, data={"key": "not base64!"})
creating("invalid Secret key", SECRET, data={"a b": "eA=="})
creating("invalid ConfigMap key", CONFIG_MAP, data={"a b": "x"})
creating("invalid ConfigMap keys twice", CONFIG_MAP, data={"a": "x"}, binaryData={"a": "eA=="})
creating("invalid PersistentVolumeClaim without modes", CLAIM, spec={"resources": {"requests": {"storage": "1Gi"}}})
creating("invalid PersistentVolumeClaim without size", CLAIM, spec={"accessModes": ["ReadWriteOnce"]})
creating("invalid PersistentVolumeClaim mode", CLAIM, spec={
    "accessModes": ["Sideways"], "resources": {"requests": {"storage": "1Gi"}}})
creating("invalid PersistentVolumeClaim size", CLAIM, spec={
    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}})
creating("invalid NetworkPolicy type", POLICY, spec={"podSelector": {}, "policyTypes": ["Sideways"]})
creating("invalid NetworkPolicy block", POLICY, spec={
    "podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "everywhere"}}]}]})


@case("invalid Event")
def _(api, ns):
    body = EVENT.object("x", involvedObject={"kind": "Pod", "name": "x", "namespace": "other"})
    return api.call("POST", EVENT.path(ns), body)



# ---- Requests that are refused

asking("refused get", "GET", POD)
asking("refused get of a Sandbox", "GET", SANDBOX)
asking("refused put", "PUT", CONFIG_MAP, CONFIG_MAP.object("x"))
asking("refused put of a Sandbox", "PUT", SANDBOX, SANDBOX.object("x"))
asking("refused delete", "DELETE", SANDBOX)
asking("refused patch", "PATCH", SANDBOX, {"spec": {}})
asking("refused namespace", "POST", SANDBOX, SANDBOX.object("x", metadata={"namespace": "other"}), path_name=None)
asking("refused version of a new object", "PUT", SANDBOX, SANDBOX.object("x"), object={})
asking("refused old version", "PUT", SANDBOX, SANDBOX.object("x", metadata={"resourceVersion": "1"}), object={})
asking("refused precondition uid", "DELETE", SANDBOX, {"preconditions": {"uid": "no"}}, object={})
asking("refused precondition version", "DELETE", CONFIG_MAP, {"preconditions": {"resourceVersion": "1"}}, object={})
asking("refused method", "PUT", SANDBOX, {}, path_name=None)
asking("refused media type", "POST", SANDBOX, "a=b", "application/x-www-form-urlencoded", path_name=None)
asking("refused strategic patch", "PATCH", SANDBOX, {}, STRATEGIC, object={})
asking("refused dry run", "POST", SANDBOX, SANDBOX.object("x"), path_name=None, dryRun="Some")
asking("refused dry run of a patch", "PATCH", SANDBOX, {}, object={}, dryRun="Some")
asking("refused validation", "PUT", SANDBOX, SANDBOX.object("x"), object={}, fieldValidation="Loose")
asking("refused propagation", "DELETE", SANDBOX, object={}, propagationPolicy="Sideways")
asking("refused orphans twice", "DELETE", SANDBOX, {"propagationPolicy": "Orphan", "orphanDependents": True}, object={})
asking("refused strict", "POST", SANDBOX, SANDBOX.object("x", spec={"b": 1, "a": 2}), path_name=None,
       fieldValidation="Strict")
asking("refused match", "GET", SANDBOX, path_name=None, resourceVersionMatch="Exact")
asking("refused unknown match", "GET", SANDBOX, path_name=None, resourceVersion="1", resourceVersionMatch="Nearly")
asking("refused exact zero", "GET", SANDBOX, path_name=None, resourceVersion="0", resourceVersionMatch="Exact")
asking("refused initial events of a list", "GET", SANDBOX, path_name=None, sendInitialEvents="true")
asking("refused initial events", "GET", SANDBOX, path_name=None, watch="true", sendInitialEvents="true")
asking("refused match of a watch", "GET", SANDBOX, path_name=None, watch="true", resourceVersionMatch="NotOlderThan")
asking("refused field", "GET", SANDBOX, path_name=None, fieldSelector="spec.mode=code")
asking("refused field of a Pod", "GET", POD, path_name=None, fieldSelector="spec.x=1")
asking("refused field of a ConfigMap", "GET", CONFIG_MAP, path_name=None, fieldSelector="data.x=1")
asking("refused field selector", "GET", SANDBOX, path_name=None, fieldSelector="metadata.name")
asking("refused path", "GET", SANDBOX, object={}, subresource="gadgets")
asking("refused json patch", "PATCH", SANDBOX, [{"op": "test", "path": "/spec/mode", "value": "x"}], JSON_PATCH, object={})
asking("refused change of a Pod", "PATCH", POD, {"spec": {"restartPolicy": "Never"}}, object={})
asking("refused change of a claim", "PATCH", CLAIM, {"spec": {"volumeMode": "Block"}}, object={})
asking("refused change of a Secret's type", "PATCH", SECRET, {"type": "other"}, object={})
asking("refused change of an immutable Secret", "PATCH", SECRET, {"data": {"key": "eA=="}}, object={"immutable": True})
asking("refused change of a status", "PATCH", SANDBOX, {"status": {"phase": 5}}, object={}, subresource="status")
asking("refused finalizer", "PATCH", SANDBOX, {"metadata": {"finalizers": ["not a name"]}}, object={})


@case("refused content of a namespace that ends")
def _(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("held", metadata={"finalizers": ["example.com/hold"]}))
    api.delete(NAMESPACE, None, ns)
    reply = api.call("POST", SANDBOX.path(ns), SANDBOX.object("x"))
    api.patch(SANDBOX, ns, "held", {"metadata": {"finalizers": None}})
    return reply


@case("refused second create")
def _(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("x"))
    return api.call("POST", SANDBOX.path(ns), SANDBOX.object("x"))


@case("refused namespace that is absent")
def _(api, ns):
    return api.call("POST", SANDBOX.path("absent"), SANDBOX.object("x"))


@case("refused deletion of the default namespace")
def _(api, ns):
    return api.call("DELETE", NAMESPACE.path(None, "default"))


@case("refused binding")
def _(api, ns):
    api.create(POD, ns, POD.object("x", spec=pod_spec(nodeName="here")))
    return api.call("POST", POD.path(ns, "x", "binding"), {"metadata": {"name": "x"}, "target": {"name": "there"}})


@case("refused finalizer while it is deleted")
def _(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("x", metadata={"finalizers": ["example.com/hold"]}))
    api.delete(SANDBOX, ns, "x")
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}}
    return api.call("PATCH", SANDBOX.path(ns, "x"), patch)


# ---- What a deletion answers

for kind in KINDS:
    asking(f"deleted {kind.name}", "DELETE", kind, object={})
asking("deleted Pod on a node", "DELETE", POD, object={"spec": pod_spec(nodeName="here")})
asking("deleted Sandbox with a finalizer", "DELETE", SANDBOX, object={"metadata": {"finalizers": ["example.com/hold"]}})
asking("deleted Sandbox in the foreground", "DELETE", SANDBOX, object={}, propagationPolicy="Foreground")
asking("deleted by a dry run", "DELETE", SANDBOX, object={}, dryRun="All")

# ---- Status writes

asking("status of a Sandbox", "PATCH", SANDBOX, {"status": {"phase": "Running"}}, object={}, subresource="status")
asking("status of a Pod", "PATCH", POD, {"status": {
    "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "hostIP": "10.0.0.9",
    "containerStatuses": [{"name": "main", "image": "busybox", "imageID": "", "ready": True, "restartCount": 0,
                           "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}}]}},
    STRATEGIC, object={}, subresource="status")
asking("status of a claim", "PATCH", CLAIM, {"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
                                                       "capacity": {"storage": "1Gi"}}}, MERGE, object={}, subresource="status")

# ---- Discovery of the kinds that both have; tables

for path in ("/api", "/api/v1", "/apis", "/apis/agenttier.io", "/apis/agenttier.io/v1alpha1",
             "/apis/networking.k8s.io/v1", "/apis/coordination.k8s.io/v1"):
    CASES[f"discovery {path}"] = lambda api, ns, path=path: api.call("GET", path)


def table(name, kind, count, **query):
    def run(api, ns):
        made = [object_of(kind, ns, f"x{n}-{ns}" if not kind.namespaced else f"x{n}",
                          metadata={"labels": {"of": ns}}) for n in range(count)]
        for body in made:
            api.create(kind, ns, body)
        return api.call("GET", kind.path(ns), headers={"Accept": TABLE}, labelSelector=f"of={ns}", **query)
    CASES[name] = run


for kind in KINDS:
    table(f"table {kind.name}", kind, 1)
table("table of none", TEMPLATE, 0)
table("table page", SANDBOX, 2, limit=1)
table("table with whole objects", CLUSTER_TEMPLATE, 1, includeObject="Object")
table("table without objects", SANDBOX, 1, includeObject="None")
