"""Finalizers, the time a deletion takes, owners and dependents, namespaces."""

import pytest
from client import causes, summary
from kinds import CLUSTER_TEMPLATE, CONFIG_MAP, NAMESPACE, POD, SANDBOX, SECRET, TEMPLATE, object_of, unique
from harness import eventually

HOLD = {"finalizers": ["example.com/hold"]}
GC_SECONDS = 60


def owned_by(owner, **more):
    metadata = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"],
            "uid": metadata["uid"], **more}


def gone(api, kind, ns, name):
    eventually(lambda: api.is_gone(kind, ns, name), GC_SECONDS, f"{kind.name} {name} gone")


@pytest.fixture
def family(api, ns):
    """A Sandbox with a Secret that it owns: (sandbox, secret)."""
    def make(owner_metadata=None, **reference):
        owner = api.create(SANDBOX, ns, SANDBOX.object(unique("owner"), metadata=owner_metadata or {}))
        child = api.create(SECRET, ns, SECRET.object(
            unique("child"), metadata={"ownerReferences": [owned_by(owner, **reference)]}))
        return owner, child
    return make


# ---- Finalizers

@pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP, CLUSTER_TEMPLATE], ids=lambda kind: kind.name)
def test_a_finalizer_holds_an_object_until_it_is_removed(api, ns, kind):
    name = api.create(kind, ns, kind.object(metadata=HOLD))["metadata"]["name"]
    answer = api.delete(kind, ns, name)
    assert answer["kind"] == kind.name
    marked = api.get(kind, ns, name)["metadata"]
    assert marked["deletionTimestamp"] and marked["deletionGracePeriodSeconds"] == 0
    after = api.patch(kind, ns, name, {"metadata": {"finalizers": None}})
    assert after["metadata"]["name"] == name
    assert api.is_gone(kind, ns, name)


def test_a_second_delete_changes_nothing(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object(metadata=HOLD))["metadata"]["name"]
    api.delete(SANDBOX, ns, name)
    first = api.get(SANDBOX, ns, name)
    api.delete(SANDBOX, ns, name)
    assert api.get(SANDBOX, ns, name) == first


def test_a_deletion_cannot_be_taken_back(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object(metadata=HOLD))["metadata"]["name"]
    api.delete(SANDBOX, ns, name)
    marked = api.get(SANDBOX, ns, name)
    after = api.patch(SANDBOX, ns, name, {"metadata": {"deletionTimestamp": None, "labels": {"a": "1"}}})
    assert after["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP], ids=lambda kind: kind.name)
def test_no_new_finalizer_while_an_object_is_deleted(api, ns, kind):
    name = api.create(kind, ns, kind.object(metadata=HOLD))["metadata"]["name"]
    api.delete(kind, ns, name)
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    status = api.refused(422, "PATCH", kind.path(ns, name), patch)
    assert set(causes(status)) == {("FieldValueForbidden", "metadata.finalizers")}
    assert "no new finalizers can be added if the object is being deleted" in status["message"]


def test_one_of_two_finalizers_is_not_enough(api, ns):
    two = {"finalizers": ["example.com/a", "example.com/b"]}
    name = api.create(SANDBOX, ns, SANDBOX.object(metadata=two))["metadata"]["name"]
    api.delete(SANDBOX, ns, name)
    after = api.patch(SANDBOX, ns, name, {"metadata": {"finalizers": ["example.com/b"]}})
    assert after["metadata"]["finalizers"] == ["example.com/b"]
    assert api.get(SANDBOX, ns, name)


def test_an_object_that_is_deleted_can_still_be_written(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object(metadata=HOLD))["metadata"]["name"]
    api.delete(SANDBOX, ns, name)
    after = api.patch(SANDBOX, ns, name, {"status": {"phase": "Deleting"}}, subresource="status")
    assert after["status"]["phase"] == "Deleting"


def test_a_watch_sees_the_mark_and_then_the_end(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("a", metadata=HOLD))
    with api.watch(SANDBOX.path(ns), resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        api.delete(SANDBOX, ns, "a")
        api.patch(SANDBOX, ns, "a", {"metadata": {"finalizers": None}})
        assert summary(watch.take(2)) == ["MODIFIED a", "DELETED a"]


def test_a_name_is_free_again_after_the_end(api, ns):
    first = api.create(SANDBOX, ns, SANDBOX.object("a"))
    api.delete(SANDBOX, ns, "a")
    second = api.create(SANDBOX, ns, SANDBOX.object("a"))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_a_deletion_dry_run_deletes_nothing(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    api.delete(SANDBOX, ns, name, dryRun="All")
    api.delete(SANDBOX, ns, name, {"dryRun": ["All"]})
    assert "deletionTimestamp" not in api.get(SANDBOX, ns, name)["metadata"]


@pytest.mark.parametrize("finalizer,refused", [("no-slash", True), ("not a name", True),
                                               ("example.com/ok", False)])
def test_a_finalizer_is_a_qualified_name(api, ns, finalizer, refused):
    reply = api.call("POST", CONFIG_MAP.path(ns), CONFIG_MAP.object(metadata={"finalizers": [finalizer]}))
    assert reply.status == (422 if refused else 201), reply.text
    if refused:
        assert reply.body["details"]["causes"][0]["field"].startswith("metadata.finalizers")


# ---- Pods end gracefully

def pod_on_a_node(api, ns, **spec):
    spec = {**POD.body["spec"], "nodeName": "here", **spec}
    return api.create(POD, ns, POD.object(spec=spec))["metadata"]["name"]


def test_a_pod_on_a_node_is_marked_with_its_grace(api, ns):
    name = pod_on_a_node(api, ns, terminationGracePeriodSeconds=7)
    answer = api.delete(POD, ns, name)
    assert answer["kind"] == "Pod" and answer["metadata"]["deletionGracePeriodSeconds"] == 7
    assert api.get(POD, ns, name)["metadata"]["deletionTimestamp"]
    api.delete(POD, ns, name, {"gracePeriodSeconds": 0})
    assert api.is_gone(POD, ns, name)


def test_a_pods_grace_may_be_given(api, ns):
    name = pod_on_a_node(api, ns)
    assert api.delete(POD, ns, name, gracePeriodSeconds=3)["metadata"]["deletionGracePeriodSeconds"] == 3


def test_a_pods_grace_may_be_shortened_and_not_lengthened(api, ns):
    name = pod_on_a_node(api, ns, terminationGracePeriodSeconds=20)
    first = api.delete(POD, ns, name)["metadata"]
    api.delete(POD, ns, name, {"gracePeriodSeconds": 5})
    second = api.get(POD, ns, name)["metadata"]
    assert second["deletionGracePeriodSeconds"] == 5
    assert second["deletionTimestamp"] < first["deletionTimestamp"]
    api.delete(POD, ns, name, {"gracePeriodSeconds": 50})
    assert api.get(POD, ns, name)["metadata"]["deletionGracePeriodSeconds"] == 5


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(api, ns, phase):
    name = pod_on_a_node(api, ns)
    api.patch(POD, ns, name, {"status": {"phase": phase}}, subresource="status")
    api.delete(POD, ns, name)
    assert api.is_gone(POD, ns, name)


def test_a_pod_without_a_node_goes_at_once(api, ns):
    name = api.create(POD, ns, POD.object())["metadata"]["name"]
    api.delete(POD, ns, name)
    assert api.is_gone(POD, ns, name)


# ---- Owners

def test_dependents_go_after_their_owner(api, ns, family):
    owner, child = family()
    answer = api.delete(SANDBOX, ns, owner["metadata"]["name"])
    assert answer["status"] == "Success"
    assert api.is_gone(SANDBOX, ns, owner["metadata"]["name"])
    gone(api, SECRET, ns, child["metadata"]["name"])


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_dependents_go_with_the_policy(api, ns, family, policy):
    owner, child = family(blockOwnerDeletion=True)
    api.delete(SANDBOX, ns, owner["metadata"]["name"], {"propagationPolicy": policy})
    gone(api, SECRET, ns, child["metadata"]["name"])
    gone(api, SANDBOX, ns, owner["metadata"]["name"])


def test_foreground_waits_for_dependents_that_block(api, ns, family):
    owner, child = family(blockOwnerDeletion=True)
    name, other = owner["metadata"]["name"], child["metadata"]["name"]
    api.patch(SECRET, ns, other, {"metadata": HOLD})
    api.delete(SANDBOX, ns, name, propagationPolicy="Foreground")
    waiting = api.get(SANDBOX, ns, name)["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"] and waiting["deletionTimestamp"]
    eventually(lambda: "deletionTimestamp" in api.get(SECRET, ns, other)["metadata"], GC_SECONDS,
               "the dependent marked")
    assert not api.is_gone(SANDBOX, ns, name)
    api.patch(SECRET, ns, other, {"metadata": {"finalizers": None}})
    gone(api, SANDBOX, ns, name)


def test_foreground_does_not_wait_for_dependents_that_do_not_block(api, ns, family):
    owner, child = family()
    name, other = owner["metadata"]["name"], child["metadata"]["name"]
    api.patch(SECRET, ns, other, {"metadata": HOLD})
    api.delete(SANDBOX, ns, name, propagationPolicy="Foreground")
    gone(api, SANDBOX, ns, name)
    assert api.get(SECRET, ns, other)
    api.patch(SECRET, ns, other, {"metadata": {"finalizers": None}})


def test_orphans_stay_and_lose_the_reference(api, ns, family):
    owner, child = family()
    api.delete(SANDBOX, ns, owner["metadata"]["name"], {"propagationPolicy": "Orphan"})
    gone(api, SANDBOX, ns, owner["metadata"]["name"])
    left = api.get(SECRET, ns, child["metadata"]["name"])
    assert "ownerReferences" not in left["metadata"] and "deletionTimestamp" not in left["metadata"]


def test_orphans_by_the_old_option(api, ns, family):
    owner, child = family()
    api.delete(SANDBOX, ns, owner["metadata"]["name"], {"orphanDependents": True})
    gone(api, SANDBOX, ns, owner["metadata"]["name"])
    assert "ownerReferences" not in api.get(SECRET, ns, child["metadata"]["name"])["metadata"]


def test_a_dependent_of_two_stays_with_the_second(api, ns):
    owners = [api.create(SANDBOX, ns, SANDBOX.object()) for _ in range(2)]
    child = api.create(SECRET, ns, SECRET.object(
        metadata={"ownerReferences": [owned_by(o) for o in owners]}))["metadata"]["name"]
    api.delete(SANDBOX, ns, owners[0]["metadata"]["name"])
    second = owners[1]["metadata"]["uid"]
    eventually(lambda: [r["uid"] for r in api.get(SECRET, ns, child)["metadata"]["ownerReferences"]]
               == [second], GC_SECONDS, "one owner left")
    api.delete(SANDBOX, ns, owners[1]["metadata"]["name"])
    gone(api, SECRET, ns, child)


def test_a_chain_of_owners_goes_to_its_end(api, ns):
    owner = api.create(SANDBOX, ns, SANDBOX.object())
    first = owner["metadata"]["name"]
    for _ in range(3):
        owner = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(metadata={"ownerReferences": [owned_by(owner)]}))
    api.delete(SANDBOX, ns, first)
    gone(api, CONFIG_MAP, ns, owner["metadata"]["name"])


def test_a_dependent_whose_owner_never_was_goes(api, ns):
    reference = {"apiVersion": "agenttier.io/v1alpha1", "kind": "Sandbox", "name": "nobody",
                 "uid": "11111111-2222-3333-4444-555555555555"}
    made = api.create(SECRET, ns, SECRET.object(metadata={"ownerReferences": [reference]}))
    gone(api, SECRET, ns, made["metadata"]["name"])


def test_an_owner_of_that_name_with_another_uid_is_none(api, ns):
    owner = api.create(SANDBOX, ns, SANDBOX.object())
    reference = owned_by(owner)
    reference["uid"] = "11111111-2222-3333-4444-555555555555"
    made = api.create(SECRET, ns, SECRET.object(metadata={"ownerReferences": [reference]}))
    gone(api, SECRET, ns, made["metadata"]["name"])
    assert api.get(SANDBOX, ns, owner["metadata"]["name"])


def test_an_owner_of_the_cluster_owns_across_namespaces(api, ns):
    owner = api.create(CLUSTER_TEMPLATE, None, CLUSTER_TEMPLATE.object())
    child = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(metadata={"ownerReferences": [owned_by(owner)]}))
    api.delete(CLUSTER_TEMPLATE, None, owner["metadata"]["name"])
    gone(api, CONFIG_MAP, ns, child["metadata"]["name"])


def test_deletecollection_takes_dependents_too(api, ns, family):
    owner, child = family()
    api.ok("DELETE", SANDBOX.path(ns))
    assert api.is_gone(SANDBOX, ns, owner["metadata"]["name"])
    gone(api, SECRET, ns, child["metadata"]["name"])


BAD_REFERENCES = {
    "two controllers": ([{"controller": True}, {"controller": True, "uid": "another"}],
                        "metadata.ownerReferences"),
    "an Event": ([{"apiVersion": "v1", "kind": "Event"}], "metadata.ownerReferences"),
    "no name": ([{"name": ""}], "metadata.ownerReferences.name"),
    "no kind": ([{"kind": ""}], "metadata.ownerReferences.kind"),
    "no uid": ([{"uid": ""}], "metadata.ownerReferences.uid"),
    "no version": ([{"apiVersion": ""}], "metadata.ownerReferences.apiVersion"),
}


@pytest.mark.parametrize("case", BAD_REFERENCES)
def test_an_owner_reference_is_whole(api, ns, case):
    changes, field = BAD_REFERENCES[case]
    owner = api.create(SANDBOX, ns, SANDBOX.object())
    references = [{**owned_by(owner), **change} for change in changes]
    status = api.refused(422, "POST", SECRET.path(ns), SECRET.object(metadata={"ownerReferences": references}))
    assert field in [cause["field"] for cause in status["details"]["causes"]]


def test_an_owner_that_is_named_twice_is_kept_once(api, ns):
    owner = api.create(SANDBOX, ns, SANDBOX.object())
    body = SECRET.object(metadata={"ownerReferences": [owned_by(owner), owned_by(owner)]})
    reply = api.call("POST", SECRET.path(ns), body)
    assert reply.status == 201 and len(reply.body["metadata"]["ownerReferences"]) == 1
    assert len(reply.warnings()) == 1 and owner["metadata"]["uid"] in reply.warnings()[0]


@pytest.mark.parametrize("policy", ["Sideways", "background"])
def test_an_unknown_policy_is_refused(api, ns, policy):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    status = api.refused(422, "DELETE", SANDBOX.path(ns, name), {"propagationPolicy": policy})
    assert causes(status) == [("FieldValueNotSupported", "propagationPolicy")]


def test_two_ways_to_say_what_happens_to_dependents_are_refused(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object())["metadata"]["name"]
    options = {"propagationPolicy": "Background", "orphanDependents": True}
    status = api.refused(422, "DELETE", SANDBOX.path(ns, name), options)
    assert causes(status) == [("FieldValueInvalid", "propagationPolicy")]


# ---- Namespaces

def test_a_namespace_takes_its_content_with_it(api):
    ns = api.create(NAMESPACE, None, NAMESPACE.object(unique("ns")))["metadata"]["name"]
    for kind in (SANDBOX, TEMPLATE, CONFIG_MAP, SECRET, POD):
        api.create(kind, ns, object_of(kind, ns, "content"))
    api.delete(NAMESPACE, None, ns)
    gone(api, NAMESPACE, None, ns)
    for kind in (SANDBOX, TEMPLATE, CONFIG_MAP, SECRET, POD):
        assert api.is_gone(kind, ns, "content")


def test_a_namespace_waits_for_finalizers_in_it_and_takes_nothing_new(api):
    ns = api.create(NAMESPACE, None, NAMESPACE.object(unique("ns")))["metadata"]["name"]
    api.create(SANDBOX, ns, SANDBOX.object("held", metadata=HOLD))
    api.delete(NAMESPACE, None, ns)
    eventually(lambda: "deletionTimestamp" in api.get(SANDBOX, ns, "held")["metadata"], GC_SECONDS,
               "the content marked")
    space = api.get(NAMESPACE, None, ns)
    assert space["status"]["phase"] == "Terminating" and space["metadata"]["deletionTimestamp"]
    status = api.refused(403, "POST", SANDBOX.path(ns), SANDBOX.object("late"))
    assert "because it is being terminated" in status["message"]
    assert causes(status)[0][0] == "NamespaceTerminating"
    api.patch(SANDBOX, ns, "held", {"metadata": {"finalizers": None}})
    gone(api, NAMESPACE, None, ns)


def test_the_default_namespace_cannot_be_deleted(api):
    status = api.refused(403, "DELETE", NAMESPACE.path(None, "default"))
    assert status["reason"] == "Forbidden" and "this namespace may not be deleted" in status["message"]
