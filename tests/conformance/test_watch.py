"""Watches: order, selectors, where they start, bookmarks, and what is too old."""

import pytest
from client import TABLE, summary
from kinds import CONFIG_MAP, KINDS, NAMESPACE, POD, SANDBOX, object_of, unique
from servers import LEASES

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def version_of(api, path):
    return api.ok("GET", path)["metadata"]["resourceVersion"]


@every_kind
def test_a_watch_tells_of_an_objects_life_in_order(api, ns, kind):
    body = object_of(kind, ns)
    name = body["metadata"]["name"]
    start = version_of(api, kind.path(ns))
    with api.watch(kind.path(ns), resourceVersion=start,
                   fieldSelector=f"metadata.name={name}") as watch:
        made = api.create(kind, ns, body)
        after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}})
        api.delete(kind, ns, name)
        events = watch.take(3)
    # Of a pod, and of a namespace, the mark is told before the end.
    last = "MODIFIED" if kind in (NAMESPACE, POD) else "DELETED"
    assert summary(events) == [f"ADDED {name}", f"MODIFIED {name}", f"{last} {name}"]
    assert events[0]["object"] == made and events[1]["object"] == after
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_a_watch_without_a_version_begins_with_what_is(api, ns):
    for name in ("b", "a"):
        api.create(SANDBOX, ns, SANDBOX.object(name))
    with api.watch(SANDBOX.path(ns)) as watch:
        assert sorted(summary(watch.take(2))) == ["ADDED a", "ADDED b"]
        api.delete(SANDBOX, ns, "a")
        assert summary([watch.next()]) == ["DELETED a"]


def test_a_watch_goes_on_from_a_version(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("first"))
    api.create(SANDBOX, ns, SANDBOX.object("second"))
    api.delete(SANDBOX, ns, "first")
    with api.watch(SANDBOX.path(ns), resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        assert summary(watch.take(2)) == ["ADDED second", "DELETED first"]


def test_a_watch_goes_on_where_another_ended(api, ns):
    path = SANDBOX.path(ns)
    with api.watch(path, resourceVersion=version_of(api, path)) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("a"))
        last = watch.next()["object"]["metadata"]["resourceVersion"]
    api.create(SANDBOX, ns, SANDBOX.object("b"))
    with api.watch(path, resourceVersion=last) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("c"))
        assert summary(watch.take(2)) == ["ADDED b", "ADDED c"]


def test_a_deleted_object_is_shown_as_it_was_with_a_later_version(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("a"))
    with api.watch(SANDBOX.path(ns), resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        api.delete(SANDBOX, ns, "a")
        gone = watch.next()["object"]
    assert gone["spec"] == made["spec"]
    assert int(gone["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_an_object_enters_and_leaves_a_selection(api, ns):
    path = SANDBOX.path(ns)
    with api.watch(path, resourceVersion=version_of(api, path), labelSelector="on=1") as watch:
        api.create(SANDBOX, ns, SANDBOX.object("a"))
        for value in ("1", None, "1"):
            api.patch(SANDBOX, ns, "a", {"metadata": {"labels": {"on": value}}})
        api.delete(SANDBOX, ns, "a")
        events = watch.take(4)
    assert summary(events) == ["ADDED a", "DELETED a", "ADDED a", "DELETED a"]


def test_a_field_selection_follows_the_status(api, ns):
    path = POD.path(ns)
    with api.watch(path, resourceVersion=version_of(api, path), fieldSelector="status.phase=Running") as watch:
        api.create(POD, ns, POD.object("a"))
        for phase in ("Running", "Failed"):
            api.patch(POD, ns, "a", {"status": {"phase": phase}}, subresource="status")
        events = watch.take(2)
    assert summary(events) == ["ADDED a", "DELETED a"]


def test_an_object_is_not_watched_by_its_path(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("a"))
    assert api.ok("GET", SANDBOX.path(ns, "a"), watch="true") == made


def test_a_watch_of_one_object_by_its_name(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("a"))
    start = version_of(api, SANDBOX.path(ns))
    with api.watch(SANDBOX.path(ns), resourceVersion=start, fieldSelector="metadata.name=a") as watch:
        api.create(SANDBOX, ns, SANDBOX.object("b"))
        api.patch(SANDBOX, ns, "a", {"metadata": {"labels": {"x": "1"}}})
        assert summary([watch.next()]) == ["MODIFIED a"]


def test_a_watch_of_all_namespaces(api, ns):
    other = unique("t")
    api.create(NAMESPACE, None, NAMESPACE.object(other))
    label = unique()
    start = version_of(api, CONFIG_MAP.path(None))
    with api.watch(CONFIG_MAP.path(None), resourceVersion=start, labelSelector=f"l={label}") as watch:
        for name, where in (("a", ns), ("b", other)):
            api.create(CONFIG_MAP, where, CONFIG_MAP.object(name, metadata={"labels": {"l": label}}))
        assert summary(watch.take(2)) == ["ADDED a", "ADDED b"]


def test_a_watch_of_a_namespace_hears_of_no_other(api, ns):
    other = unique("t")
    api.create(NAMESPACE, None, NAMESPACE.object(other))
    with api.watch(CONFIG_MAP.path(ns), resourceVersion=version_of(api, CONFIG_MAP.path(ns))) as watch:
        api.create(CONFIG_MAP, other, CONFIG_MAP.object("elsewhere"))
        api.create(CONFIG_MAP, ns, CONFIG_MAP.object("here"))
        assert summary([watch.next()]) == ["ADDED here"]


def test_a_watch_ends_after_its_time(api, ns):
    with api.watch(SANDBOX.path(ns), resourceVersion=version_of(api, SANDBOX.path(ns)), timeoutSeconds=1) as watch:
        assert watch.rest() == []


def test_a_write_that_changes_nothing_is_no_event(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("a"))
    with api.watch(SANDBOX.path(ns), resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        api.put(SANDBOX, ns, made)
        api.create(SANDBOX, ns, SANDBOX.object("b"))
        assert summary([watch.next()]) == ["ADDED b"]


def test_a_dry_run_is_no_event(api, ns):
    with api.watch(SANDBOX.path(ns), resourceVersion=version_of(api, SANDBOX.path(ns))) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("a"), dryRun="All")
        api.create(SANDBOX, ns, SANDBOX.object("b"))
        assert summary([watch.next()]) == ["ADDED b"]


# ---- Bookmarks

def test_bookmarks_carry_a_version_and_nothing_else(api, ns):
    made = api.create(SANDBOX, ns, SANDBOX.object("a"))
    with api.watch(SANDBOX.path(ns), resourceVersion=made["metadata"]["resourceVersion"],
                   allowWatchBookmarks="true", timeoutSeconds=5) as watch:
        api.create(SANDBOX, "default", SANDBOX.object())  # so that there is a newer version
        event = watch.next()
    assert event["type"] == "BOOKMARK"
    bookmark = event["object"]
    assert bookmark["kind"] == "Sandbox" and bookmark["apiVersion"] == "agenttier.io/v1alpha1"
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
    assert not bookmark["metadata"].get("name")


def test_a_watch_goes_on_from_a_bookmark(api, ns):
    path = SANDBOX.path(ns)
    with api.watch(path, resourceVersion=version_of(api, path), allowWatchBookmarks="true",
                   timeoutSeconds=5) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("a"))
        added, bookmark = watch.take(2)
    assert bookmark["type"] == "BOOKMARK"
    version = int(bookmark["object"]["metadata"]["resourceVersion"])
    assert version >= int(added["object"]["metadata"]["resourceVersion"])
    api.create(SANDBOX, ns, SANDBOX.object("b"))
    with api.watch(path, resourceVersion=bookmark["object"]["metadata"]["resourceVersion"]) as watch:
        assert summary([watch.next()]) == ["ADDED b"]


def test_no_bookmarks_unless_asked_for(api, ns):
    with api.watch(SANDBOX.path(ns), resourceVersion=version_of(api, SANDBOX.path(ns)), timeoutSeconds=2) as watch:
        assert watch.rest() == []


# ---- A list as the beginning of a watch

INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP], ids=lambda kind: kind.name)
def test_initial_events_end_with_a_bookmark(api, ns, kind):
    for name in ("a", "b"):
        last = api.create(kind, ns, kind.object(name))
    with api.watch(kind.path(ns), **INITIAL) as watch:
        events = watch.take(len(api.names(kind.path(ns))) + 1)
        api.create(kind, ns, kind.object("c"))
        assert watch.next()["object"]["metadata"]["name"] == "c"
    assert {event["type"] for event in events[:-1]} == {"ADDED"}
    end = events[-1]
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    version = int(end["object"]["metadata"]["resourceVersion"])
    assert version >= int(last["metadata"]["resourceVersion"])


def test_initial_events_of_an_empty_collection(api, ns):
    with api.watch(SANDBOX.path(ns), **INITIAL) as watch:
        assert watch.next()["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_initial_events_of_a_selection(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("a", metadata={"labels": {"on": "1"}}))
    api.create(SANDBOX, ns, SANDBOX.object("b"))
    with api.watch(SANDBOX.path(ns), labelSelector="on=1", **INITIAL) as watch:
        assert [e["type"] for e in watch.take(2)] == ["ADDED", "BOOKMARK"]


def test_initial_events_that_are_refused(api, ns):
    """Without resourceVersionMatch, and together with a list."""
    reply = api.call("GET", SANDBOX.path(ns), watch="true", sendInitialEvents="true")
    assert reply.status == 422 and reply.body["reason"] == "Invalid", reply.text
    reply = api.call("GET", SANDBOX.path(ns), sendInitialEvents="true")
    assert reply.status == 422, reply.text


def test_a_watch_without_initial_events(api, ns):
    api.create(SANDBOX, ns, SANDBOX.object("a"))
    query = {**INITIAL, "sendInitialEvents": "false"}
    with api.watch(SANDBOX.path(ns), **query) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("b"))
        events = [watch.next()]
    assert summary(events) == ["ADDED b"]


# ---- What is forgotten, and what is wrong

def test_a_watch_from_a_forgotten_version_is_410(api, server, ns):
    path = LEASES.replace("default", ns)
    start = api.ok("POST", path, {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    api.ok("PATCH", f"{path}/a", {"metadata": {"labels": {"a": "1"}}})
    server.compact(api)
    with api.watch(path, resourceVersion=start) as watch:
        status = watch.refusal()
    assert status["code"] == 410 and status["reason"] == "Expired", status


def test_a_watch_from_a_malformed_version_is_refused(api, ns):
    with api.watch(SANDBOX.path(ns), resourceVersion="latest") as watch:
        assert watch.refusal()["code"] == 500


def test_a_watch_with_a_bad_selector_is_400(api, ns):
    with api.watch(SANDBOX.path(ns), labelSelector="a in b") as watch:
        assert watch.refusal()["code"] == 400


def test_a_watch_of_tables(api, ns):
    start = version_of(api, SANDBOX.path(ns))
    with api.watch(SANDBOX.path(ns), resourceVersion=start, headers={"Accept": TABLE}) as watch:
        api.create(SANDBOX, ns, SANDBOX.object("a"))
        api.create(SANDBOX, ns, SANDBOX.object("b"))
        events = watch.take(2)
    assert [event["object"]["kind"] for event in events] == ["Table", "Table"]
    assert [event["object"]["rows"][0]["cells"][0] for event in events] == ["a", "b"]
    # The columns are told once.
    assert events[0]["object"]["columnDefinitions"] and not events[1]["object"].get("columnDefinitions")
