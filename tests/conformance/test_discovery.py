"""What kubectl and client libraries ask for before they ask for objects."""

import pytest
from kinds import KINDS, SANDBOX

by_name = lambda kind: kind.name  # noqa: E731


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_a_kind_is_discovered(api, kind):
    found = [r for r in api.ok("GET", kind.root)["resources"] if r["name"] == kind.plural]
    assert len(found) == 1 and found[0]["kind"] == kind.name
    assert found[0]["namespaced"] == kind.namespaced
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(found[0]["verbs"])


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_a_status_is_discovered_where_there_is_one(api, kind):
    names = [r["name"] for r in api.ok("GET", kind.root)["resources"]]
    assert (f"{kind.plural}/status" in names) == kind.status


@pytest.mark.parametrize("group", ["agenttier.io", "networking.k8s.io", "coordination.k8s.io"])
def test_a_group_is_discovered(api, group):
    groups = {g["name"]: g for g in api.ok("GET", "/apis")["groups"]}
    version = "v1alpha1" if group == "agenttier.io" else "v1"
    assert groups[group]["preferredVersion"] == {"groupVersion": f"{group}/{version}", "version": version}


def test_the_version_is_that_of_the_api(api):
    version = api.ok("GET", "/version")
    assert (version["major"], version["minor"]) == ("1", "34")
    assert version["gitVersion"].startswith("v1.34.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_the_server_says_that_it_is_well(api, path):
    reply = api.call("GET", path)
    assert (reply.status, reply.text) == (200, "ok")


def test_the_schemas_of_a_group_are_found(api):
    paths = api.ok("GET", "/openapi/v3")["paths"]
    url = paths["apis/agenttier.io/v1alpha1"]["serverRelativeURL"]
    document = api.ok("GET", url)
    of_kind = [s for s in document["components"]["schemas"].values()
               if {"group": "agenttier.io", "kind": "Sandbox", "version": "v1alpha1"}
               in s.get("x-kubernetes-group-version-kind", [])]
    assert len(of_kind) == 1 and "spec" in of_kind[0]["properties"]


def test_the_schema_says_what_a_write_may_ask(api):
    """kubectl looks here whether a server knows dryRun and fieldValidation."""
    url = api.ok("GET", "/openapi/v3")["paths"]["apis/agenttier.io/v1alpha1"]["serverRelativeURL"]
    path = api.ok("GET", url)["paths"][SANDBOX.path("{namespace}", "{name}")]
    names = {parameter.get("name") for parameter in path["patch"]["parameters"]}
    assert {"dryRun", "fieldValidation"} <= names


def test_groups_in_one_document(api):
    """The aggregated form, which newer clients ask for first."""
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    document = api.call("GET", "/apis", headers={"Accept": accept}).body
    assert document["kind"] == "APIGroupDiscoveryList"


def test_a_page_of_metadata_alone(api, ns):
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    api.create(SANDBOX, ns, SANDBOX.object("a"))
    listed = api.call("GET", SANDBOX.path(ns), headers={"Accept": accept}).body
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}]


def test_an_answer_of_a_type_that_no_server_has_is_406(api, ns):
    reply = api.call("GET", SANDBOX.path(ns), headers={"Accept": "text/csv"})
    assert reply.status == 406 and reply.body["reason"] == "NotAcceptable"
