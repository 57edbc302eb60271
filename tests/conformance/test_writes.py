"""What a write does besides: dry runs, generated names, unknown fields, defaults, faults."""

import pytest
from client import causes
from kinds import (CLAIM, CONFIG_MAP, KINDS, LEASE, NAMESPACE, NODE, POD, POLICY, SANDBOX, SECRET, SERVICE,
                   TEMPLATE, object_of, unique)

by_name = lambda kind: kind.name  # noqa: E731
every_kind = pytest.mark.parametrize("kind", KINDS, ids=by_name)


# ---- Dry runs

@every_kind
def test_a_dry_run_creates_nothing(api, ns, kind):
    body = object_of(kind, ns)
    answer = api.call("POST", kind.path(ns), body, dryRun="All")
    assert answer.status == 201, answer.text
    assert answer.body["metadata"]["uid"] and "resourceVersion" not in answer.body["metadata"]
    assert api.is_gone(kind, ns, body["metadata"]["name"])


@pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP], ids=by_name)
def test_a_dry_run_changes_nothing(api, ns, kind):
    made = api.create(kind, ns, kind.object())
    name = made["metadata"]["name"]
    after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}}, dryRun="All")
    assert after["metadata"]["labels"] == {"a": "1"}
    assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert api.get(kind, ns, name) == made


def test_a_dry_run_is_validated(api, ns):
    status = api.refused(422, "POST", SANDBOX.path(ns), SANDBOX.object(spec={"desiredState": "Flying"}),
                         dryRun="All")
    assert ("FieldValueNotSupported", "spec.desiredState") in causes(status)


def test_an_unknown_dry_run_is_refused(api, ns):
    api.refused(422, "POST", CONFIG_MAP.path(ns), CONFIG_MAP.object(), dryRun="Some")


# ---- Generated names

@every_kind
def test_a_name_is_generated(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns, metadata={"generateName": "made-"}))
    name = made["metadata"]["name"]
    assert name.startswith("made-") and len(name) == len("made-") + 5
    assert made["metadata"]["generateName"] == "made-"


def test_a_long_prefix_is_cut(api, ns):
    made = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(metadata={"generateName": "x" * 80 + "-"}))
    assert len(made["metadata"]["name"]) == 63


def test_a_name_wins_over_a_prefix(api, ns):
    body = CONFIG_MAP.object("mine")
    body["metadata"]["generateName"] = "made-"
    assert api.create(CONFIG_MAP, ns, body)["metadata"]["name"] == "mine"


def test_a_prefix_makes_a_good_name(api, ns):
    body = CONFIG_MAP.object(metadata={"generateName": "Not_A_Name"})
    status = api.refused(422, "POST", CONFIG_MAP.path(ns), body)
    assert ("FieldValueInvalid", "metadata.generateName") in causes(status)


@pytest.mark.parametrize("kind", [CONFIG_MAP, SANDBOX], ids=by_name)
def test_a_name_is_needed(api, ns, kind):
    body = kind.object()
    del body["metadata"]["name"]
    status = api.refused(422, "POST", kind.path(ns), body)
    assert ("FieldValueRequired", "metadata.name") in causes(status)
    assert "name or generateName is required" in status["message"]


# ---- Unknown fields

def unknown_sandbox():
    body = SANDBOX.object()
    body["spec"]["colour"] = "blue"
    body["spec"]["templateRef"]["shade"] = "dark"
    return body


def test_unknown_fields_are_pruned_and_warned_of(api, ns):
    reply = api.call("POST", SANDBOX.path(ns), unknown_sandbox())
    assert reply.status == 201
    assert "colour" not in reply.body["spec"] and "shade" not in reply.body["spec"]["templateRef"]
    assert sorted(reply.warnings()) == [r'299 - "unknown field \"spec.colour\""',
                                        r'299 - "unknown field \"spec.templateRef.shade\""']


def test_strict_validation_refuses_unknown_fields(api, ns):
    status = api.refused(400, "POST", SANDBOX.path(ns), unknown_sandbox(), fieldValidation="Strict")
    assert status["reason"] == "BadRequest"
    assert 'strict decoding error: unknown field "spec.colour"' in status["message"]
    assert 'unknown field "spec.templateRef.shade"' in status["message"]


def test_ignored_unknown_fields_give_no_warning(api, ns):
    reply = api.call("POST", SANDBOX.path(ns), unknown_sandbox(), fieldValidation="Ignore")
    assert reply.status == 201 and reply.warnings() == [] and "colour" not in reply.body["spec"]


@pytest.mark.parametrize("kind,body", [
    (CONFIG_MAP, {"colour": "blue"}), (POD, {"spec": {**POD.body["spec"], "colour": "blue"}}),
    (SECRET, {"colour": "blue"})], ids=["ConfigMap", "Pod", "Secret"])
def test_unknown_fields_of_kinds_of_kubernetes(api, ns, kind, body):
    field = "spec.colour" if "spec" in body else "colour"
    reply = api.call("POST", kind.path(ns), kind.object(**body))
    assert reply.status == 201
    assert "colour" not in reply.body and "colour" not in reply.body.get("spec", {})
    assert reply.warnings() == [rf'299 - "unknown field \"{field}\""']


@pytest.mark.parametrize("kind", [POD, CONFIG_MAP], ids=by_name)
def test_strict_validation_of_kinds_of_kubernetes(api, ns, kind):
    body = kind.object(colour="blue")
    status = api.refused(400, "POST", kind.path(ns), body, fieldValidation="Strict")
    assert 'strict decoding error: unknown field "colour"' in status["message"]


@pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP], ids=by_name)
def test_unknown_metadata_is_dropped_and_warned_of(api, ns, kind):
    reply = api.call("POST", kind.path(ns), kind.object(metadata={"colour": "blue"}))
    assert reply.status == 201 and "colour" not in reply.body["metadata"]
    assert reply.warnings() == [r'299 - "unknown field \"metadata.colour\""']


def test_a_patch_is_pruned_and_warned_of(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    reply = api.call("PATCH", SANDBOX.path(ns, name), {"spec": {"colour": "blue"}})
    assert reply.status == 200 and "colour" not in reply.body["spec"]
    assert reply.warnings() == [r'299 - "unknown field \"spec.colour\""']


def test_a_field_twice_is_warned_of(api, ns):
    name = unique()
    text = ('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},'
            '"data":{"a":"1"},"data":{"a":"2"}}' % name)
    reply = api.call("POST", CONFIG_MAP.path(ns), text)
    assert reply.status == 201 and reply.warnings() == [r'299 - "duplicate field \"data\""']


def test_an_unknown_validation_is_refused(api, ns):
    api.refused(422, "POST", CONFIG_MAP.path(ns), CONFIG_MAP.object(), fieldValidation="Loose")


# ---- Defaults that a test reads one by one; whole objects are in test_answers.py

def test_a_custom_default_is_filled_in(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object())
    assert made["spec"]["templateRef"] == {"name": "minimal", "kind": "SandboxTemplate"}


def test_a_default_is_filled_in_again_after_a_removal(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    after = api.patch(SANDBOX, ns, name, {"spec": {"templateRef": {"kind": None}}})
    assert after["spec"]["templateRef"]["kind"] == "SandboxTemplate"


def test_a_secrets_texts_become_data(api, ns):
    made = api.create(SECRET, ns, SECRET.object(stringData={"key": "new", "more": "text"}))
    assert made["data"] == {"key": "bmV3", "more": "dGV4dA=="} and "stringData" not in made
    assert made["type"] == "Opaque"


@pytest.mark.parametrize("spec,types", [
    ({"podSelector": {}}, ["Ingress"]),
    ({"podSelector": {}, "egress": [{}]}, ["Ingress", "Egress"]),
    ({"podSelector": {}, "policyTypes": ["Egress"]}, ["Egress"])],
    ids=["none", "egress", "given"])
def test_types_of_a_network_policy(api, ns, spec, types):
    assert api.create(POLICY, ns, POLICY.object(spec=spec))["spec"]["policyTypes"] == types


def test_a_namespace_is_labelled_with_its_name(api, ns):
    labels = api.get(NAMESPACE, None, ns)["metadata"]["labels"]
    assert labels == {"kubernetes.io/metadata.name": ns}


# ---- Fields that cannot change

FIXED = [
    (POD, {"spec": {"restartPolicy": "Never"}}, [("FieldValueForbidden", "spec")]),
    (POD, {"spec": {"nodeName": "other"}}, [("FieldValueForbidden", "spec")]),
    (CLAIM, {"spec": {"accessModes": ["ReadOnlyMany"]}}, [("FieldValueForbidden", "spec")]),
    (SECRET, {"type": "other"}, [("FieldValueInvalid", "type")]),
    (SERVICE, {"spec": {"clusterIP": "10.96.200.200"}}, [("FieldValueInvalid", "spec.clusterIPs[0]")]),
]


@pytest.mark.parametrize("kind,patch,wanted", FIXED, ids=[
    "Pod restart policy", "Pod node", "PersistentVolumeClaim modes", "Secret type", "Service address"])
def test_a_field_that_is_fixed(api, ns, kind, patch, wanted):
    body = object_of(kind, ns)
    if kind is POD:
        body["spec"]["nodeName"] = "here"
    name = api.create(kind, ns, body)["metadata"]["name"]
    status = api.refused(422, "PATCH", kind.path(ns, name), patch)
    assert status["reason"] == "Invalid" and set(wanted) <= set(causes(status))


@pytest.mark.parametrize("kind", [SECRET, CONFIG_MAP], ids=by_name)
def test_an_immutable_object_keeps_its_data(api, ns, kind):
    name = api.create(kind, ns, kind.object(immutable=True))["metadata"]["name"]
    value = {"key": "b3RoZXI="}
    status = api.refused(422, "PATCH", kind.path(ns, name), {"data": value})
    assert causes(status) == [("FieldValueForbidden", "data")]
    status = api.refused(422, "PATCH", kind.path(ns, name), {"immutable": False})
    assert causes(status) == [("FieldValueForbidden", "immutable")]
    api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}})


def test_an_image_of_a_pod_may_change(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
    after = api.patch(POD, ns, name, patch, "application/json-patch+json")
    assert after["spec"]["containers"][0]["image"] == "other"


def test_a_bound_claim_may_grow(api, ns):
    name = api.create(CLAIM, ns, CLAIM.object(unique("c"), spec={
        **CLAIM.body["spec"], "volumeName": "v", "storageClassName": "s"}))["metadata"]["name"]
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    api.patch(CLAIM, ns, name, {"status": status}, subresource="status")
    patch = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    reply = api.call("PATCH", CLAIM.path(ns, name), patch)
    # The class must exist and allow it; the store keeps no classes.
    assert reply.status in (200, 403), reply.text
    smaller = {"spec": {"resources": {"requests": {"storage": "1Mi"}}}}
    api.refused(422, "PATCH", CLAIM.path(ns, name), smaller)


# ---- Limits

def test_annotations_have_a_limit(api, ns):
    body = CONFIG_MAP.object(metadata={"annotations": {"a": "x" * (256 * 1024)}})
    status = api.refused(422, "POST", CONFIG_MAP.path(ns), body)
    assert causes(status) == [("FieldValueTooLong", "metadata.annotations")]


@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET], ids=by_name)
def test_data_has_a_limit(api, ns, kind):
    status = api.refused(422, "POST", kind.path(ns), kind.object(data={"a": "eHh4" * (360 * 1024)}))
    assert causes(status)[0][0] == "FieldValueTooLong"


def test_a_request_has_a_limit(api, ns):
    body = SANDBOX.object(metadata={"annotations": {"a": "x" * (4 * 1024 * 1024)}})
    status = api.refused(413, "POST", SANDBOX.path(ns), body)
    assert status["reason"] == "RequestEntityTooLarge"


@pytest.mark.parametrize("kind", [NODE, LEASE, TEMPLATE], ids=by_name)
def test_a_write_of_labels_that_are_none(api, ns, kind):
    """A null removes, as an absent field does."""
    made = api.create(kind, ns, object_of(kind, ns, metadata={"labels": {"a": "1"}}))
    after = api.patch(kind, ns, made["metadata"]["name"], {"metadata": {"labels": None}})
    assert "labels" not in after["metadata"]
