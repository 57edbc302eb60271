"""What each verb does, for each kind."""

import copy
import re

import pytest
from client import causes
from kinds import (CLUSTER_TEMPLATE, CONFIG_MAP, EVENT, KINDS, NAMESPACE, NODE, POD, SANDBOX, SECRET,
                   SERVICE, object_of, unique)

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


@every_kind
def test_create_answers_201_with_the_servers_metadata(api, ns, kind):
    body = object_of(kind, ns)
    reply = api.call("POST", kind.path(ns), body)
    assert reply.status == 201, reply.text
    made = reply.body
    assert made["apiVersion"] == kind.api_version and made["kind"] == kind.name
    metadata = made["metadata"]
    assert metadata["name"] == body["metadata"]["name"]
    assert metadata.get("namespace") == (ns if kind.namespaced else None)
    assert UID.fullmatch(metadata["uid"]) and TIME.fullmatch(metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0


@every_kind
def test_get_answers_what_create_did(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    assert api.get(kind, ns, made["metadata"]["name"]) == made


@every_kind
def test_list_has_the_objects_in_order_of_their_names(api, ns, kind):
    label = unique()
    names = [unique("b"), unique("a"), unique("c")]
    for name in names:
        api.create(kind, ns, object_of(kind, ns, name, metadata={"labels": {"test": label}}))
    listed = api.ok("GET", kind.path(ns), labelSelector=f"test={label}")
    assert listed["kind"] == kind.name + "List" and listed["apiVersion"] == kind.api_version
    assert [item["metadata"]["name"] for item in listed["items"]] == sorted(names)
    assert int(listed["metadata"]["resourceVersion"]) > 0


@every_kind
def test_update_replaces_labels_and_gives_a_new_version(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns, metadata={"labels": {"old": "1"}}))
    changed = copy.deepcopy(made)
    changed["metadata"]["labels"] = {"new": "2"}
    after = api.put(kind, ns, changed)
    labels = {k: v for k, v in after["metadata"]["labels"].items() if "kubernetes.io" not in k}
    assert labels == {"new": "2"}
    assert int(after["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert after["metadata"]["uid"] == made["metadata"]["uid"]


@every_kind
def test_merge_patch_adds_an_annotation(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns, metadata={"annotations": {"a": "1"}}))
    after = api.patch(kind, ns, made["metadata"]["name"], {"metadata": {"annotations": {"b": "2"}}})
    assert after["metadata"]["annotations"] == {"a": "1", "b": "2"}


@every_kind
def test_delete_removes_the_object(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    name = made["metadata"]["name"]
    answer = api.delete(kind, ns, name)
    if kind is NAMESPACE:
        assert answer["status"]["phase"] == "Terminating"
        return
    if answer["kind"] == "Status":
        assert answer["status"] == "Success"
        assert answer["details"]["uid"] == made["metadata"]["uid"]
    assert api.refused(404, "GET", kind.path(ns, name))["reason"] == "NotFound"


@every_kind
def test_a_second_create_of_a_name_is_refused(api, ns, kind):
    body = object_of(kind, ns)
    api.create(kind, ns, body)
    status = api.refused(409, "POST", kind.path(ns), body)
    assert status["reason"] == "AlreadyExists"
    name = body["metadata"]["name"]
    plural = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    assert status["message"] == f'{plural} "{name}" already exists'
    details = {"name": name, "kind": kind.plural}
    assert status["details"] == ({**details, "group": kind.group} if kind.group else details)


@every_kind
def test_the_status_of_an_absent_object_names_it(api, ns, kind):
    status = api.refused(404, "GET", kind.path(ns, "nobody"))
    plural = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    assert status["message"] == f'{plural} "nobody" not found'
    details = {"name": "nobody", "kind": kind.plural}
    assert status["details"] == ({**details, "group": kind.group} if kind.group else details)


@every_kind
def test_deletecollection_takes_what_the_selector_names(api, ns, kind):
    label = unique()
    for name, value in (("x", "go"), ("y", "go"), ("z", "stay")):
        name = unique(name)
        api.create(kind, ns, object_of(kind, ns, name, metadata={"labels": {"l": label, "do": value}}))
    if kind is NAMESPACE:
        assert api.refused(405, "DELETE", kind.path(ns), labelSelector=f"l={label}")
        return
    answer = api.ok("DELETE", kind.path(ns), labelSelector=f"l={label},do=go")
    assert answer["kind"] == kind.name + "List" and len(answer["items"]) == 2
    left = api.ok("GET", kind.path(ns), labelSelector=f"l={label}")["items"]
    assert [item["metadata"]["labels"]["do"] for item in left] == ["stay"]


@pytest.mark.parametrize("kind", [k for k in KINDS if k.namespaced], ids=lambda kind: kind.name)
def test_a_list_of_all_namespaces_has_the_object(api, ns, kind):
    made = api.create(kind, ns, object_of(kind, ns))
    name = made["metadata"]["name"]
    listed = api.ok("GET", kind.path(None), fieldSelector=f"metadata.name={name}")
    assert [i["metadata"]["uid"] for i in listed["items"]] == [made["metadata"]["uid"]]


def test_a_name_in_the_body_must_be_that_of_the_path(api, ns):
    made = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())
    other = copy.deepcopy(made)
    other["metadata"]["name"] = "other"
    status = api.refused(400, "PUT", CONFIG_MAP.path(ns, made["metadata"]["name"]), other)
    assert status["reason"] == "BadRequest"
    assert "does not match the name on the URL" in status["message"]


def test_a_namespace_in_the_body_must_be_that_of_the_path(api, ns):
    status = api.refused(400, "POST", CONFIG_MAP.path(ns),
                         CONFIG_MAP.object(metadata={"namespace": "other"}))
    assert "namespace of the provided object does not match" in status["message"]


def test_a_kind_in_the_body_must_be_that_of_the_path(api, ns):
    status = api.refused(400, "POST", CONFIG_MAP.path(ns), SECRET.object())
    assert status["reason"] == "BadRequest"


@pytest.mark.parametrize("kind", [CONFIG_MAP, SANDBOX], ids=lambda kind: kind.name)
def test_put_of_an_absent_object_is_404(api, ns, kind):
    status = api.refused(404, "PUT", kind.path(ns, "absent"), kind.object("absent"))
    assert status["reason"] == "NotFound"


@pytest.mark.parametrize("kind", [CONFIG_MAP, SANDBOX], ids=lambda kind: kind.name)
def test_patch_of_an_absent_object_is_404(api, ns, kind):
    status = api.refused(404, "PATCH", kind.path(ns, "absent"), {"metadata": {"labels": {"a": "b"}}})
    assert status["reason"] == "NotFound"


def test_a_create_in_an_absent_namespace_is_404(api):
    status = api.refused(404, "POST", CONFIG_MAP.path("no-such-namespace"), CONFIG_MAP.object())
    assert status["message"] == 'namespaces "no-such-namespace" not found'
    assert status["details"] == {"name": "no-such-namespace", "kind": "namespaces"}


def test_a_list_in_an_absent_namespace_is_empty(api):
    assert api.ok("GET", CONFIG_MAP.path("no-such-namespace"))["items"] == []


def test_post_to_an_object_is_405(api, ns):
    status = api.refused(405, "POST", CONFIG_MAP.path(ns, "x"), CONFIG_MAP.object("x"))
    assert status["reason"] == "MethodNotAllowed"


def test_put_to_a_collection_is_405(api, ns):
    status = api.refused(405, "PUT", CONFIG_MAP.path(ns), CONFIG_MAP.object("x"))
    assert status["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize("path", ["/api/v1/gadgets", "/apis/agenttier.io/v1/sandboxes",
                                  "/apis/nowhere.io/v1/things", "/api/v2/pods"])
def test_an_unknown_path_is_404(api, path):
    assert api.call("GET", path).status == 404


def test_a_body_that_is_no_json_is_400(api, ns):
    status = api.refused(400, "POST", CONFIG_MAP.path(ns), "{ this is not json")
    assert status["reason"] == "BadRequest"


def test_a_body_of_another_media_type_is_415(api, ns):
    status = api.refused(415, "POST", CONFIG_MAP.path(ns), "a=b", "application/x-www-form-urlencoded")
    assert status["reason"] == "UnsupportedMediaType"


def test_yaml_is_read_like_json(api, ns):
    name = unique()
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: value\n"
    made = api.ok("POST", CONFIG_MAP.path(ns), text, "application/yaml")
    assert made["data"] == {"key": "value"}


def test_a_binding_sets_the_node_of_a_pod_once(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
               "target": {"kind": "Node", "name": "here"}}
    answer = api.ok("POST", POD.path(ns, name, "binding"), binding)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    pod = api.get(POD, ns, name)
    assert pod["spec"]["nodeName"] == "here"
    assert api.refused(409, "POST", POD.path(ns, name, "binding"), binding)["reason"] == "Conflict"


def test_a_service_is_named_by_a_label_that_begins_with_a_letter(api, ns):
    status = api.refused(422, "POST", SERVICE.path(ns), SERVICE.object("1-service"))
    assert causes(status) == [("FieldValueInvalid", "metadata.name")]


@pytest.mark.parametrize("kind", [NODE, CLUSTER_TEMPLATE], ids=lambda kind: kind.name)
def test_a_namespace_of_an_object_of_the_cluster_is_dropped(api, kind):
    made = api.create(kind, None, kind.object(metadata={"namespace": "default"}))
    assert "namespace" not in made["metadata"]


def test_an_event_is_of_an_object_in_its_own_namespace(api, ns):
    body = EVENT.object()
    body["involvedObject"]["namespace"] = "other"
    status = api.refused(422, "POST", EVENT.path(ns), body)
    assert ("FieldValueInvalid", "involvedObject.namespace") in causes(status)
