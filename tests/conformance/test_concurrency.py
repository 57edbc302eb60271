"""Optimistic concurrency, preconditions, generation and the status subresource."""

import copy

import pytest
from client import JSON_PATCH, causes
from kinds import (CLAIM, CONFIG_MAP, KINDS, NAMESPACE, NODE, POD, POLICY, SANDBOX, SECRET, SERVICE, TEMPLATE,
                   object_of, unique)

by_name = lambda kind: kind.name  # noqa: E731
every_kind = pytest.mark.parametrize("kind", KINDS, ids=by_name)
STALE = ("the object has been modified; please apply your changes to the latest version and "
         "try again")


@every_kind
def test_an_update_of_an_old_version_is_a_conflict(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    name = made["metadata"]["name"]
    api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}})
    made["metadata"]["labels"] = {"a": "2"}
    status = api.refused(409, "PUT", kind.path(ns, name), made)
    assert status["reason"] == "Conflict"
    plural = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    assert status["message"] == f'Operation cannot be fulfilled on {plural} "{name}": {STALE}'


@every_kind
def test_a_write_that_changes_nothing_gives_no_new_version(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns, metadata={"labels": {"a": "1"}}))
    name = made["metadata"]["name"]
    if kind is CLAIM:  # its first update stores it in another form
        made = api.put(kind, ns, made)
    assert api.put(kind, ns, made)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}})
    assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET, NODE], ids=by_name)
def test_an_update_without_a_version_is_unconditional(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    del made["metadata"]["resourceVersion"]
    made["metadata"]["labels"] = {"a": "1"}
    assert api.put(kind, ns, made)["metadata"]["labels"] == {"a": "1"}


@pytest.mark.parametrize("kind", [SANDBOX, TEMPLATE], ids=by_name)
def test_an_update_of_a_custom_object_needs_its_version(api, ns, kind):
    made = api.create(kind, ns, kind.object())
    del made["metadata"]["resourceVersion"]
    status = api.refused(422, "PUT", kind.path(ns, made["metadata"]["name"]), made)
    assert causes(status) == [("FieldValueInvalid", "metadata.resourceVersion")]
    assert "must be specified for an update" in status["message"]


def test_a_create_must_not_give_a_version(api, ns):
    body = CONFIG_MAP.object(metadata={"resourceVersion": "5"})
    status = api.refused(500, "POST", CONFIG_MAP.path(ns), body)
    assert "resourceVersion should not be set on objects to be created" in status["message"]


def test_an_update_with_another_uid_is_a_conflict(api, ns):
    made = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())
    other = copy.deepcopy(made)
    other["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    status = api.refused(409, "PUT", CONFIG_MAP.path(ns, made["metadata"]["name"]), other)
    assert status["reason"] == "Conflict"
    assert "Precondition failed: UID in precondition: 11111111" in status["message"]


def test_a_patch_with_an_old_version_is_a_conflict(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object())
    name = made["metadata"]["name"]
    api.patch(SANDBOX, ns, name, {"metadata": {"labels": {"a": "1"}}})
    patch = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"], "labels": {"a": "2"}}}
    assert api.refused(409, "PATCH", SANDBOX.path(ns, name), patch)["reason"] == "Conflict"


def test_a_json_patch_tests_before_it_writes(api, ns):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())["metadata"]["name"]
    patch = [{"op": "test", "path": "/data/key", "value": "other"},
             {"op": "replace", "path": "/data/key", "value": "new"}]
    status = api.refused(422, "PATCH", CONFIG_MAP.path(ns, name), patch, JSON_PATCH)
    assert status["reason"] == "Invalid"
    assert api.get(CONFIG_MAP, ns, name)["data"] == {"key": "value"}


@pytest.mark.parametrize("field,value,name_of_it", [
    ("uid", "11111111-2222-3333-4444-555555555555", "UID"), ("resourceVersion", "1", "ResourceVersion")],
    ids=["uid", "version"])
def test_a_delete_keeps_to_its_preconditions(api, ns, field, value, name_of_it):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())["metadata"]["name"]
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {field: value}}
    status = api.refused(409, "DELETE", CONFIG_MAP.path(ns, name), options)
    assert status["reason"] == "Conflict"
    assert f"the {name_of_it} in the precondition ({value}) does not match" in status["message"]
    assert api.get(CONFIG_MAP, ns, name)


def test_a_delete_with_right_preconditions_goes_through(api, ns):
    made = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())["metadata"]
    wanted = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}
    api.delete(CONFIG_MAP, ns, made["name"], {"preconditions": wanted})
    assert api.is_gone(CONFIG_MAP, ns, made["name"])


# ---- Generation

CHANGES = [(SANDBOX, {"spec": {"desiredState": "Stopped"}}),
           (TEMPLATE, {"spec": {"image": {"repository": "other/image"}}}),
           (POD, {"spec": {"activeDeadlineSeconds": 100}}),
           (POLICY, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}})]


@pytest.mark.parametrize("kind,change", CHANGES, ids=[k.name for k, _ in CHANGES])
def test_generation_counts_changes_of_the_spec(api, ns, kind, change):
    made = api.create(kind, ns, kind.object())
    assert made["metadata"]["generation"] == 1
    name = made["metadata"]["name"]
    after = api.patch(kind, ns, name, change)
    assert after["metadata"]["generation"] == 2
    after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}})
    assert after["metadata"]["generation"] == 2


@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET, NAMESPACE, NODE, SERVICE, CLAIM], ids=by_name)
def test_kinds_without_generation(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    assert "generation" not in made["metadata"]


def test_generation_is_the_servers(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object(metadata={"generation": 7}))
    assert made["metadata"]["generation"] == 1
    made["metadata"]["generation"] = 9
    assert api.put(SANDBOX, ns, made)["metadata"]["generation"] == 1


def test_a_mark_for_deletion_counts_as_a_change(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object(metadata={"finalizers": ["example.com/hold"]}))
    name = made["metadata"]["name"]
    api.delete(SANDBOX, ns, name)
    assert api.get(SANDBOX, ns, name)["metadata"]["generation"] == 2
    api.patch(SANDBOX, ns, name, {"metadata": {"finalizers": None}})


# ---- The status subresource

STATUS = [(SANDBOX, {"phase": "Running"}), (POD, {"phase": "Running"}), (CLAIM, {"phase": "Bound"}),
          (NODE, {"phase": "Running"}),
          (SERVICE, {"loadBalancer": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}})]
every_status = pytest.mark.parametrize("kind,status", STATUS, ids=[k.name for k, _ in STATUS])


@every_status
def test_a_write_of_the_main_part_keeps_the_status(api, ns, kind, status):
    made = api.create(kind, ns, kind.object())
    name = made["metadata"]["name"]
    before = made.get("status")
    after = api.patch(kind, ns, name, {"status": status, "metadata": {"labels": {"a": "1"}}})
    assert after.get("status") == before and after["metadata"]["labels"] == {"a": "1"}


@every_status
def test_a_write_of_the_status_changes_nothing_else(api, ns, kind, status):
    body = kind.object(**({"spec": {**kind.body["spec"], "type": "LoadBalancer"}}
                          if kind is SERVICE else {}))
    made = api.create(kind, ns, body)
    name = made["metadata"]["name"]
    patch = {"status": status, "spec": {"unschedulable": True, "serviceAccount": "other"}}
    after = api.patch(kind, ns, name, patch, subresource="status")
    for field, value in status.items():
        assert after["status"][field] == value
    assert after.get("spec") == made.get("spec")
    assert after["metadata"].get("generation") == made["metadata"].get("generation")


@pytest.mark.parametrize("kind", [SANDBOX, POD, NODE], ids=by_name)
def test_labels_through_the_status_subresource(api, ns, kind):
    """Custom kinds do not take metadata there, the others take labels."""
    name = api.create(kind, ns, kind.object())["metadata"]["name"]
    after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}}, subresource="status")
    wanted = None if kind.custom else {"a": "1"}
    assert after["metadata"].get("labels") == wanted


def test_a_create_drops_the_status(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object(status={"phase": "Running"}))
    assert "status" not in made
    pod = api.create(POD, ns, POD.object(status={"phase": "Running", "podIP": "10.0.0.1"}))
    assert pod["status"]["phase"] == "Pending" and "podIP" not in pod["status"]


def test_a_create_of_a_node_keeps_the_status(api, ns):
    node = api.create(NODE, ns, NODE.object(status={"capacity": {"cpu": "4"}}))
    assert node["status"]["capacity"] == {"cpu": "4"}


def test_status_is_read_by_itself(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object())
    assert api.ok("GET", SANDBOX.path(ns, made["metadata"]["name"], "status")) == made


def test_a_put_of_the_status_keeps_the_spec(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object())
    changed = copy.deepcopy(made)
    changed["spec"]["desiredState"] = "Stopped"
    changed["status"] = {"phase": "Running"}
    path = SANDBOX.path(ns, made["metadata"]["name"], "status")
    after = api.ok("PUT", path, changed)
    assert after["status"] == {"phase": "Running"} and after["spec"] == made["spec"]


@pytest.mark.parametrize("kind", [CONFIG_MAP, TEMPLATE, POLICY], ids=by_name)
def test_a_kind_without_status_has_no_such_path(api, ns, kind):
    name = api.create(kind, ns, object_of(kind, ns))["metadata"]["name"]
    assert api.call("GET", kind.path(ns, name, "status")).status == 404


def test_a_status_is_validated(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    path = SANDBOX.path(ns, name, "status")
    status = api.refused(422, "PATCH", path, {"status": {"restartCount": "many"}})
    assert ("FieldValueTypeInvalid", "status.restartCount") in causes(status)


def test_a_pods_status_may_go_to_its_end(api, ns):
    name = api.create(POD, ns, POD.object(unique("pod")))["metadata"]["name"]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    for phase in ("Running", "Succeeded"):
        patch = {"status": {"phase": phase, "conditions": [ready]}}
        after = api.patch(POD, ns, name, patch, subresource="status")
        assert after["status"]["phase"] == phase
