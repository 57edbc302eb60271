"""Selectors, and pages of one snapshot."""

import pytest
from kinds import CONFIG_MAP, EVENT, NAMESPACE, NODE, POD, SANDBOX, SECRET, SERVICE, object_of, unique
from servers import LEASES

OBJECTS = {"a": {"tier": "web", "env": "prod"}, "b": {"tier": "web", "env": "test"},
           "c": {"tier": "db"}, "d": {}}

LABEL_SELECTORS = {
    "tier=web": "ab", "tier==web": "ab", "tier!=web": "cd", "tier": "abc", "!tier": "d",
    "tier in (web,db)": "abc", "tier in (web)": "ab", "tier notin (web)": "cd",
    "env notin (prod,test)": "cd", "tier=web,env=prod": "a", "tier=web,env!=prod": "b",
    "tier,!env": "c", " tier = web , env in ( test ) ": "b", "tier=nothing": "", "": "abcd",
    "env=": "", "env in (prod, test),tier in (db)": "",
}


@pytest.fixture
def labelled(api, ns):
    for name, labels in OBJECTS.items():
        api.create(CONFIG_MAP, ns, CONFIG_MAP.object(name, metadata={"labels": labels}))
    return CONFIG_MAP.path(ns)


@pytest.mark.parametrize("selector", LABEL_SELECTORS)
def test_a_label_selector(api, labelled, selector):
    found = [n for n in api.names(labelled, labelSelector=selector) if n in OBJECTS]
    assert "".join(found) == LABEL_SELECTORS[selector]


@pytest.mark.parametrize("selector", ["tier in web", "tier in (", "=web", "tier=web,", "a b", "tier===web",
                                      "tier=-web-", "not/a/key=x"])
def test_a_label_selector_that_is_none_is_400(api, labelled, selector):
    status = api.refused(400, "GET", labelled, labelSelector=selector)
    assert status["reason"] == "BadRequest"


FIELD_SELECTORS = {"metadata.name=a": "a", "metadata.name!=a": "bcd", "metadata.name==b": "b",
                   "metadata.name=a,metadata.name=b": "", "metadata.name=absent": ""}


@pytest.mark.parametrize("selector", FIELD_SELECTORS)
def test_a_field_selector(api, labelled, selector):
    found = [n for n in api.names(labelled, fieldSelector=selector) if n in OBJECTS]
    assert "".join(found) == FIELD_SELECTORS[selector]


def test_selectors_are_met_together(api, labelled):
    assert api.names(labelled, labelSelector="tier=web", fieldSelector="metadata.name!=a") == ["b"]


@pytest.mark.parametrize("kind,selector", [
    (CONFIG_MAP, "data.key=value"), (SANDBOX, "spec.desiredState=Running"), (POD, "spec.image=x"),
    (CONFIG_MAP, "metadata.labels=x")], ids=lambda p: getattr(p, "name", p))
def test_a_field_that_cannot_be_selected_is_400(api, ns, kind, selector):
    status = api.refused(400, "GET", kind.path(ns), fieldSelector=selector)
    assert selector.split("=")[0] in status["message"]


def test_a_field_selector_without_an_operator_is_400(api, labelled):
    api.refused(400, "GET", labelled, fieldSelector="metadata.name")


@pytest.mark.parametrize("kind", [SANDBOX, NODE, NAMESPACE, SERVICE], ids=lambda kind: kind.name)
def test_every_kind_is_selected_by_name(api, ns, kind):
    names = [api.create(kind, ns, object_of(kind, ns))["metadata"]["name"] for _ in range(2)]
    assert api.names(kind.path(ns), fieldSelector=f"metadata.name={names[1]}") == names[1:]


def test_objects_are_selected_by_namespace(api, ns):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object())["metadata"]["name"]
    assert name in api.names(CONFIG_MAP.path(None), fieldSelector=f"metadata.namespace={ns}")


POD_FIELDS = ["spec.nodeName=here", "spec.restartPolicy=Never", "status.phase=Running",
              "status.podIP=10.0.0.9", "spec.nodeName!=", "status.phase!=Pending",
              "spec.serviceAccountName=robot", "spec.schedulerName=mine"]


@pytest.mark.parametrize("selector", POD_FIELDS)
def test_pods_are_selected_by(api, ns, selector):
    spec = {**POD.body["spec"], "nodeName": "here", "restartPolicy": "Never",
            "serviceAccountName": "robot", "schedulerName": "mine"}
    api.create(POD, ns, POD.object("one", spec=spec))
    api.create(POD, ns, POD.object("two"))
    status = {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}
    api.patch(POD, ns, "one", {"status": status}, subresource="status")
    assert api.names(POD.path(ns), fieldSelector=selector) == ["one"]


@pytest.mark.parametrize("selector", ["involvedObject.name=one", "involvedObject.kind=Sandbox",
                                      "reason=Started", "type=Warning", "source=tester",
                                      "involvedObject.uid=u1", "reportingComponent=tester"])
def test_events_are_selected_by(api, ns, selector):
    api.create(EVENT, ns, object_of(EVENT, ns, "first", involvedObject={
        "kind": "Sandbox", "name": "one", "namespace": ns, "uid": "u1"}, reason="Started",
        type="Warning", source={"component": "tester"}, reportingComponent="tester"))
    api.create(EVENT, ns, object_of(EVENT, ns, "second"))
    assert api.names(EVENT.path(ns), fieldSelector=selector) == ["first"]


def test_secrets_are_selected_by_type(api, ns):
    api.create(SECRET, ns, SECRET.object("mine", type="example.com/mine"))
    api.create(SECRET, ns, SECRET.object("plain"))
    assert api.names(SECRET.path(ns), fieldSelector="type=example.com/mine") == ["mine"]


def test_nodes_are_selected_by_schedulability(api):
    label = unique()
    for name, spec in (("x", {"unschedulable": True}), ("y", {})):
        api.create(NODE, None, NODE.object(unique(name), spec=spec, metadata={"labels": {"l": label}}))
    found = api.names(NODE.path(None), labelSelector=f"l={label}", fieldSelector="spec.unschedulable=true")
    assert [name[0] for name in found] == ["x"]


def test_namespaces_are_selected_by_phase(api, ns):
    found = api.names(NAMESPACE.path(None), fieldSelector=f"status.phase=Active,metadata.name={ns}")
    assert found == [ns]


# ---- Pages

@pytest.fixture
def five(api, ns):
    for number in range(5):
        api.create(SANDBOX, ns, SANDBOX.object(f"s{number}", metadata={"labels": {"odd": str(number % 2)}}))
    return SANDBOX.path(ns)


def page_names(page):
    return [item["metadata"]["name"] for item in page["items"]]


def test_a_page_has_the_limit_and_says_what_is_left(api, five):
    page = api.ok("GET", five, limit=2)
    assert page_names(page) == ["s0", "s1"]
    assert page["metadata"]["continue"] and page["metadata"]["remainingItemCount"] == 3


def test_pages_have_every_object_once(api, five):
    found, query = [], {}
    while True:
        page = api.ok("GET", five, limit=2, **query)
        found += page_names(page)
        if not page["metadata"].get("continue"):
            break
        query = {"continue": page["metadata"]["continue"]}
    assert found == ["s0", "s1", "s2", "s3", "s4"]
    assert "remainingItemCount" not in page["metadata"]


def test_pages_are_of_one_snapshot(api, ns, five):
    first = api.ok("GET", five, limit=2)
    api.delete(SANDBOX, ns, "s3")
    api.create(SANDBOX, ns, SANDBOX.object("s2a"))
    api.patch(SANDBOX, ns, "s4", {"metadata": {"labels": {"new": "1"}}})
    rest = api.ok("GET", five, limit=10, **{"continue": first["metadata"]["continue"]})
    assert page_names(rest) == ["s2", "s3", "s4"]
    assert "new" not in rest["items"][-1]["metadata"]["labels"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_pages_of_a_selection(api, five):
    page = api.ok("GET", five, limit=1, labelSelector="odd=1")
    assert page_names(page) == ["s1"] and "remainingItemCount" not in page["metadata"]
    rest = api.ok("GET", five, limit=5, labelSelector="odd=1", **{"continue": page["metadata"]["continue"]})
    assert page_names(rest) == ["s3"]


def test_a_limit_that_is_not_reached_gives_no_token(api, five):
    page = api.ok("GET", five, limit=5)
    assert len(page["items"]) == 5 and not page["metadata"].get("continue")


def test_a_token_that_is_none_is_400(api, five):
    status = api.refused(400, "GET", five, **{"continue": "not-a-token"})
    assert status["reason"] == "BadRequest"


def test_a_token_goes_with_no_version(api, five):
    token = api.ok("GET", five, limit=2)["metadata"]["continue"]
    api.refused(400, "GET", five, limit=2, resourceVersion="5", **{"continue": token})


def test_a_token_whose_snapshot_is_forgotten_is_410(api, server, ns):
    path = LEASES.replace("default", ns)
    for number in range(3):
        api.ok("POST", path, {"metadata": {"name": f"l{number}"}})
    token = api.ok("GET", path, limit=1)["metadata"]["continue"]
    server.compact(api)
    status = api.refused(410, "GET", path, limit=1, **{"continue": token})
    assert status["reason"] == "Expired"


def test_a_list_of_an_exact_version(api, ns, five):
    version = api.ok("GET", five)["metadata"]["resourceVersion"]
    api.delete(SANDBOX, ns, "s0")
    exact = api.ok("GET", five, resourceVersion=version, resourceVersionMatch="Exact", limit=10)
    assert page_names(exact) == ["s0", "s1", "s2", "s3", "s4"]
    assert exact["metadata"]["resourceVersion"] == version


def test_a_list_not_older_than_a_version(api, five):
    version = api.ok("GET", five)["metadata"]["resourceVersion"]
    newer = api.ok("GET", five, resourceVersion=version, resourceVersionMatch="NotOlderThan")
    assert int(newer["metadata"]["resourceVersion"]) >= int(version) and len(newer["items"]) == 5


def test_a_match_needs_a_version(api, five):
    status = api.refused(422, "GET", five, resourceVersionMatch="Exact")
    assert status["details"]["causes"][0]["field"] == "resourceVersionMatch"


@pytest.mark.parametrize("query", [{"limit": "many"}, {"resourceVersion": "latest"}, {"limit": "-1"},
                                   {"resourceVersionMatch": "Nearly", "resourceVersion": "1"},
                                   {"resourceVersion": "0", "resourceVersionMatch": "Exact"}],
                         ids=lambda q: ",".join(f"{k}:{v}" for k, v in q.items()))
def test_a_bad_list_query_is_refused(api, five, query):
    wanted = 422 if "resourceVersionMatch" in query else 400
    if query.get("limit") == "-1":
        assert len(api.ok("GET", five, **query)["items"]) == 5
        return
    api.refused(wanted, "GET", five, **query)


def test_a_version_that_is_not_yet_is_refused(api, five):
    """The server waits for it, then says with a time to try again."""
    now = int(api.ok("GET", five)["metadata"]["resourceVersion"])
    reply = api.call("GET", five, resourceVersion=str(now + 1000000))
    assert reply.status == 504 and reply.body["reason"] == "Timeout", reply.text
    assert "Too large resource version" in reply.body["message"]
