"""The three kinds of patches."""

import pytest
from client import JSON_PATCH, MERGE, STRATEGIC
from kinds import CONFIG_MAP, NODE, POD, POLICY, SANDBOX, SECRET, SERVICE, TEMPLATE, unique


@pytest.fixture
def config(api, ns):
    """A ConfigMap with a patch() that answers the data after it."""
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(data={"a": "1", "b": "2"}))["metadata"]["name"]

    def patch(body, type):
        return api.patch(CONFIG_MAP, ns, name, body, type).get("data")
    patch.path = CONFIG_MAP.path(ns, name)
    return patch


OPERATIONS = {
    "add": ([{"op": "add", "path": "/data/c", "value": "3"}], {"a": "1", "b": "2", "c": "3"}),
    "add over": ([{"op": "add", "path": "/data/a", "value": "3"}], {"a": "3", "b": "2"}),
    "replace": ([{"op": "replace", "path": "/data/a", "value": "3"}], {"a": "3", "b": "2"}),
    "remove": ([{"op": "remove", "path": "/data/a"}], {"b": "2"}),
    "move": ([{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b": "2", "c": "1"}),
    "copy": ([{"op": "copy", "from": "/data/a", "path": "/data/c"}], {"a": "1", "b": "2", "c": "1"}),
    "test": ([{"op": "test", "path": "/data/a", "value": "1"},
              {"op": "add", "path": "/data/x~1y", "value": "4"},
              {"op": "move", "from": "/data/x~1y", "path": "/data/y"}],
             {"a": "1", "b": "2", "y": "4"}),
    "in order": ([{"op": "add", "path": "/data/c", "value": "3"},
                  {"op": "replace", "path": "/data/c", "value": "4"},
                  {"op": "remove", "path": "/data/a"}], {"b": "2", "c": "4"}),
    "add a member's parent": ([{"op": "replace", "path": "/data", "value": {}},
                               {"op": "add", "path": "/data/n", "value": "1"}], {"n": "1"}),
    "none": ([], {"a": "1", "b": "2"}),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_json_patch(config, operation):
    patch, wanted = OPERATIONS[operation]
    assert config(patch, JSON_PATCH) == wanted


BAD_OPERATIONS = {
    "remove of an absent member": [{"op": "remove", "path": "/data/absent"}],
    "add below an absent member": [{"op": "add", "path": "/absent/x", "value": "1"}],
    "move from an absent member": [{"op": "move", "from": "/data/absent", "path": "/data/x"}],
    "a failed test": [{"op": "test", "path": "/data/a", "value": "9"}],
    "unknown operation": [{"op": "frobnicate", "path": "/data/a"}],
    "no path": [{"op": "add", "value": "1"}],
    "no array": {"op": "add", "path": "/data/a", "value": "1"},
    "no json": "[",
}
BAD_STATUS = {"no array": 400, "no json": 400}


LENIENT = {
    "replace of an absent member": ([{"op": "replace", "path": "/data/c", "value": "3"}],
                                    {"a": "1", "b": "2", "c": "3"}),
    "copy from an absent member": ([{"op": "copy", "from": "/data/c", "path": "/data/d"}],
                                   {"a": "1", "b": "2", "d": ""}),
}


@pytest.mark.parametrize("operation", LENIENT)
def test_a_json_patch_that_applies_against_its_standard(config, operation):
    """RFC 6902 says that both fail; the library of Kubernetes lets them pass."""
    patch, wanted = LENIENT[operation]
    assert config(patch, JSON_PATCH) == wanted


@pytest.mark.parametrize("operation", BAD_OPERATIONS)
def test_a_json_patch_that_does_not_apply_changes_nothing(api, config, operation):
    status = BAD_STATUS.get(operation, 422)
    answer = api.refused(status, "PATCH", config.path, BAD_OPERATIONS[operation], JSON_PATCH)
    assert answer["reason"] == {400: "BadRequest", 422: "Invalid"}[status]
    assert config([], JSON_PATCH) == {"a": "1", "b": "2"}


MERGES = {
    "adds": ({"data": {"c": "3"}}, {"a": "1", "b": "2", "c": "3"}),
    "replaces": ({"data": {"a": "3"}}, {"a": "3", "b": "2"}),
    "removes by null": ({"data": {"a": None}}, {"b": "2"}),
    "removes what is not there": ({"data": {"z": None}}, {"a": "1", "b": "2"}),
    "removes the whole": ({"data": None}, None),
    "nothing": ({}, {"a": "1", "b": "2"}),
}


@pytest.mark.parametrize("type", [MERGE, STRATEGIC], ids=["merge", "strategic"])
@pytest.mark.parametrize("case", MERGES)
def test_a_merge(config, case, type):
    patch, wanted = MERGES[case]
    assert config(patch, type) == wanted


def test_a_merge_patch_replaces_lists(api, ns):
    spec = {**SANDBOX.body["spec"], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    name = api.create(SANDBOX, ns, SANDBOX.object(spec=spec))["metadata"]["name"]
    after = api.patch(SANDBOX, ns, name, {"spec": {"env": [{"name": "C", "value": "3"}]}})
    assert after["spec"]["env"] == [{"name": "C", "value": "3"}]


@pytest.mark.parametrize("kind", [SANDBOX, TEMPLATE], ids=lambda kind: kind.name)
def test_a_custom_kind_takes_no_strategic_patch(api, ns, kind):
    name = api.create(kind, ns, kind.object())["metadata"]["name"]
    status = api.refused(415, "PATCH", kind.path(ns, name), {"metadata": {"labels": {"a": "b"}}}, STRATEGIC)
    assert status["reason"] == "UnsupportedMediaType"


def test_a_patch_of_an_unknown_type_is_refused(api, config):
    status = api.refused(415, "PATCH", config.path, {"data": {"a": "3"}}, "application/json")
    assert status["reason"] == "UnsupportedMediaType"


@pytest.mark.parametrize("type", [MERGE, STRATEGIC], ids=["merge", "strategic"])
@pytest.mark.parametrize("body", ["{", "[]", '"x"'])
def test_a_merge_that_is_no_object_is_refused(api, config, type, body):
    assert api.refused(400, "PATCH", config.path, body, type)["reason"] == "BadRequest"


def test_a_patch_cannot_change_what_is_the_servers(api, ns):
    made = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())
    name = made["metadata"]["name"]
    after = api.patch(CONFIG_MAP, ns, name, {"metadata": {
        "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 50, "labels": {"a": "1"}}})
    assert after["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert after["metadata"].get("generation") == made["metadata"].get("generation")


# ---- Strategic merge patches: lists by key, and directives

TWO = {"containers": [{"name": "a", "image": "one"}, {"name": "b", "image": "two"}]}


def images(pod):
    return [(c["name"], c["image"]) for c in pod["spec"]["containers"]]


def test_containers_are_merged_by_name(api, ns):
    name = api.create(POD, ns, POD.object(spec=TWO))["metadata"]["name"]
    patch = {"spec": {"containers": [{"name": "b", "image": "three"}]}}
    assert images(api.patch(POD, ns, name, patch, STRATEGIC)) == [("a", "one"), ("b", "three")]


def test_an_order_of_elements_is_kept(api, ns):
    name = api.create(POD, ns, POD.object(spec=TWO))["metadata"]["name"]
    patch = {"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                      "containers": [{"name": "a", "image": "three"}]}}
    assert images(api.patch(POD, ns, name, patch, STRATEGIC)) == [("a", "three"), ("b", "two")]


def conditions(api, ns, name, *changes):
    patch = {"status": {"conditions": list(changes)}}
    after = api.patch(POD, ns, name, patch, STRATEGIC, subresource="status")
    return [(c["type"], c["status"]) for c in after["status"].get("conditions", [])]


def test_conditions_are_merged_by_type(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    conditions(api, ns, name, {"type": "Ready", "status": "False"})
    both = conditions(api, ns, name, {"type": "Initialized", "status": "True"})
    assert sorted(both) == [("Initialized", "True"), ("Ready", "False")]
    both = conditions(api, ns, name, {"type": "Ready", "status": "True"})
    assert sorted(both) == [("Initialized", "True"), ("Ready", "True")]


def test_an_element_is_deleted_by_a_directive(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    conditions(api, ns, name, {"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"})
    left = conditions(api, ns, name, {"type": "Ready", "$patch": "delete"})
    assert left == [("Other", "True")]


def test_a_list_is_replaced_by_a_directive(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    conditions(api, ns, name, {"type": "Ready", "status": "False"})
    left = conditions(api, ns, name, {"type": "Other", "status": "True"}, {"$patch": "replace"})
    assert left == [("Other", "True")]


def test_an_element_without_its_key_is_refused(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    patch = {"spec": {"containers": [{"image": "three"}]}}
    reply = api.call("PATCH", POD.path(ns, name), patch, STRATEGIC)
    assert reply.status == 500, reply.text
    assert images(api.get(POD, ns, name)) == [("main", "busybox")]


def test_an_object_is_replaced_by_a_directive(api, ns):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(data={"a": "1"}))["metadata"]["name"]
    patch = {"data": {"$patch": "replace", "b": "2"}}
    assert api.patch(CONFIG_MAP, ns, name, patch, STRATEGIC)["data"] == {"b": "2"}


def test_finalizers_are_merged_and_removed_one_by_one(api, ns):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(
        metadata={"finalizers": ["example.com/a"]}))["metadata"]["name"]
    patch = {"metadata": {"finalizers": ["example.com/b"]}}
    after = api.patch(CONFIG_MAP, ns, name, patch, STRATEGIC)
    assert after["metadata"]["finalizers"] == ["example.com/b", "example.com/a"]  # new ones first
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    after = api.patch(CONFIG_MAP, ns, name, patch, STRATEGIC)
    assert after["metadata"]["finalizers"] == ["example.com/b"]
    api.patch(CONFIG_MAP, ns, name, {"metadata": {"finalizers": None}})


def test_owners_are_merged_by_uid(api, ns):
    owners = [api.create(CONFIG_MAP, ns, CONFIG_MAP.object())["metadata"] for _ in range(2)]
    references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": o["name"], "uid": o["uid"]}
                  for o in owners]
    made = api.create(SECRET, ns, SECRET.object(metadata={"ownerReferences": references[:1]}))
    patch = {"metadata": {"ownerReferences": references[1:]}}
    after = api.patch(SECRET, ns, made["metadata"]["name"], patch, STRATEGIC)
    uids = {o["uid"] for o in after["metadata"]["ownerReferences"]}
    assert uids == {o["uid"] for o in owners}


def test_ports_of_a_service_are_merged_by_their_number(api, ns):
    spec = {**SERVICE.body["spec"], "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}
    name = api.create(SERVICE, ns, SERVICE.object(spec=spec))["metadata"]["name"]
    patch = {"spec": {"ports": [{"port": 81, "targetPort": 9000}]}}
    after = api.patch(SERVICE, ns, name, patch, STRATEGIC)
    assert [(p["port"], p["targetPort"]) for p in after["spec"]["ports"]] == [(80, 80), (81, 9000)]


def test_taints_of_a_node_are_replaced(api, ns):
    taints = [{"key": "a", "effect": "NoSchedule"}]
    name = api.create(NODE, ns, NODE.object(unique("node"), spec={"taints": taints}))["metadata"]["name"]
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    after = api.patch(NODE, ns, name, patch, STRATEGIC)
    assert [t["key"] for t in after["spec"]["taints"]] == ["b"]


def test_rules_of_a_network_policy_are_replaced(api, ns):
    spec = {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "protocol": "TCP"}]}]}
    name = api.create(POLICY, ns, POLICY.object(spec=spec))["metadata"]["name"]
    patch = {"spec": {"ingress": [{"ports": [{"port": 81, "protocol": "TCP"}]}]}}
    after = api.patch(POLICY, ns, name, patch, STRATEGIC)
    assert after["spec"]["ingress"] == patch["spec"]["ingress"]


def test_addresses_of_a_node_are_merged_by_type(api, ns):
    name = api.create(NODE, ns, NODE.object(unique("node")))["metadata"]["name"]
    for kind, address in (("InternalIP", "10.0.0.1"), ("Hostname", "here"), ("InternalIP", "10.0.0.2")):
        patch = {"status": {"addresses": [{"type": kind, "address": address}]}}
        after = api.patch(NODE, ns, name, patch, STRATEGIC, subresource="status")
    found = sorted((a["type"], a["address"]) for a in after["status"]["addresses"])
    assert found == [("Hostname", "here"), ("InternalIP", "10.0.0.2")]


def test_new_elements_come_first_and_old_ones_keep_their_order(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]

    def change(order=None, **statuses):
        patch = {"conditions": [{"type": t, "status": s} for t, s in statuses.items()]}
        if order:
            patch["$setElementOrder/conditions"] = [{"type": t} for t in order]
        after = api.patch(POD, ns, name, {"status": patch}, STRATEGIC, subresource="status")
        return "".join(c["type"] + c["status"][0] for c in after["status"]["conditions"])

    assert change(A="True", B="True") == "ATBT"
    assert change(A="False", C="True") == "AFCTBT"
    assert change(D="True", B="False") == "DTAFCTBF"
    assert change(E="True", order="BEA") == "DTCTBFETAF"
