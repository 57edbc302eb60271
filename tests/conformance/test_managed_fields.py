"""Who wrote which field (metadata.managedFields), and the name that a writer may give itself."""

import pytest
from client import causes
from kinds import CONFIG_MAP, POD, SANDBOX

kinds = pytest.mark.parametrize("kind", [SANDBOX, CONFIG_MAP], ids=lambda kind: kind.name)


def entries(made):
    return [(e["manager"], e["operation"], e.get("subresource")) for e in made["metadata"]["managedFields"]]


@kinds
def test_a_create_records_its_manager(api, ns, kind):
    made = api.create(kind, ns, kind.object(), fieldManager="maker")
    assert entries(made) == [("maker", "Update", None)]
    entry = made["metadata"]["managedFields"][0]
    assert entry["apiVersion"] == kind.api_version and entry["fieldsType"] == "FieldsV1" and entry["time"]


def test_a_manager_is_named_after_the_client_unless_it_gives_a_name(api, ns):
    assert entries(api.create(CONFIG_MAP, ns, CONFIG_MAP.object())) == [("python-httpx", "Update", None)]


@kinds
def test_a_second_manager_has_the_fields_that_it_changed(api, ns, kind):
    name = api.create(kind, ns, kind.object(), fieldManager="maker")["metadata"]["name"]
    after = api.patch(kind, ns, name, {"metadata": {"labels": {"a": "1"}}}, fieldManager="labeller")
    assert sorted(entries(after)) == [("labeller", "Update", None), ("maker", "Update", None)]
    fields = {e["manager"]: e["fieldsV1"] for e in after["metadata"]["managedFields"]}
    assert fields["labeller"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


def test_a_manager_of_the_status(api, ns):
    name = api.create(SANDBOX, ns, SANDBOX.object(), fieldManager="maker")["metadata"]["name"]
    after = api.patch(SANDBOX, ns, name, {"status": {"phase": "Running"}}, subresource="status",
                      fieldManager="controller")
    assert ("controller", "Update", "status") in entries(after)


def test_a_client_may_empty_the_record(api, ns):
    name = api.create(CONFIG_MAP, ns, CONFIG_MAP.object(), fieldManager="maker")["metadata"]["name"]
    after = api.patch(CONFIG_MAP, ns, name, {"metadata": {"managedFields": [{}]}}, fieldManager="other")
    assert not after["metadata"].get("managedFields")


@pytest.mark.parametrize("name,reason", [("x" * 129, "FieldValueTooLong"), ("a\x01b", "FieldValueInvalid")],
                         ids=["long", "not printed"])
def test_a_managers_name_that_is_refused(api, ns, name, reason):
    status = api.refused(422, "POST", CONFIG_MAP.path(ns), CONFIG_MAP.object(), fieldManager=name)
    assert causes(status) == [(reason, "fieldManager")]


def test_a_record_does_not_change_what_a_write_answers_otherwise(api, ns):
    made = api.create(POD, ns, POD.object(), fieldManager="maker")
    assert api.get(POD, ns, made["metadata"]["name"]) == made
