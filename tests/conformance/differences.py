"""Where our store answers otherwise than a kube-apiserver, and why.

DIFFERENCES: checks that our store does not pass. DIFFERENT_PARTS: parts of whole answers
(answer_cases.py) that are other ones. Both are exact: a check that passes after all, or a part that is
the same after all, fails the run, and then its line has to go.
"""

MANAGED = "nothing here asks who wrote a field: there is no server-side apply, and the record would be " \
    "the largest part of a small object"
NO_SCHEMA = "the store has no schemas of the kinds of Kubernetes: it keeps fields that it does not know, " \
    "so that a newer client's object comes back whole"
RFC = "RFC 6902 says that this fails; a path that is not there is the client's mistake"
OWN_FAULT = "the real server calls a client's mistake its own (500); ours says 400, with the same meaning"
OUR_WORDS = "ours says in its own words what is wrong and where"
GO_WORDS = "the real message has a dump of Go structures"
SCHEDULING = "priorities, tolerations and taints are for a scheduler; here there is one node and none"
ADDRESSES = "there is no network of Services: nothing gives out cluster addresses"
COLUMNS = "the columns are those of the fields that are used here, taken from schema/"
NOT_SAID = "no empty values are made up for what a node does not say"
AT_ONCE = "the store collects garbage with the write that makes it: nothing is left to wait for"

DIFFERENCES = {
    "test_concurrency.py::test_a_create_must_not_give_a_version": OWN_FAULT,
    "test_patches.py::test_an_element_without_its_key_is_refused": OWN_FAULT,
    "test_watch.py::test_a_watch_from_a_malformed_version_is_refused": OWN_FAULT,
    "test_patches.py::test_a_json_patch_that_applies_against_its_standard[replace of an absent member]": RFC,
    "test_patches.py::test_a_json_patch_that_applies_against_its_standard[copy from an absent member]": RFC,
    "test_verbs.py::test_yaml_is_read_like_json": "clients send JSON: kubectl turns YAML into it",
    "test_discovery.py::test_groups_in_one_document":
        "clients that ask for this form take the older one, as the standard says",
    "test_discovery.py::test_a_page_of_metadata_alone": "no client of ours asks for metadata alone",
    "test_discovery.py::test_an_answer_of_a_type_that_no_server_has_is_406":
        "ours answers JSON whatever is asked for, which says more than a refusal",
    "test_managed_fields.py::test_a_create_records_its_manager[Sandbox]": MANAGED,
    "test_managed_fields.py::test_a_create_records_its_manager[ConfigMap]": MANAGED,
    "test_managed_fields.py::test_a_manager_is_named_after_the_client_unless_it_gives_a_name": MANAGED,
    "test_managed_fields.py::test_a_second_manager_has_the_fields_that_it_changed[Sandbox]": MANAGED,
    "test_managed_fields.py::test_a_second_manager_has_the_fields_that_it_changed[ConfigMap]": MANAGED,
    "test_managed_fields.py::test_a_manager_of_the_status": MANAGED,
    "test_writes.py::test_unknown_fields_of_kinds_of_kubernetes[ConfigMap]": NO_SCHEMA,
    "test_writes.py::test_unknown_fields_of_kinds_of_kubernetes[Pod]": NO_SCHEMA,
    "test_writes.py::test_unknown_fields_of_kinds_of_kubernetes[Secret]": NO_SCHEMA,
    "test_writes.py::test_strict_validation_of_kinds_of_kubernetes[Pod]": NO_SCHEMA,
    "test_writes.py::test_strict_validation_of_kinds_of_kubernetes[ConfigMap]": NO_SCHEMA,
    "test_writes.py::test_a_field_twice_is_warned_of": "the last one counts on both; ours does not tell",
    "test_writes.py::test_a_field_that_is_fixed[Service address]": ADDRESSES,
}


def all_of(reason, *paths):
    return {f"body.{path}": reason for path in paths}


POD = all_of(SCHEDULING, "spec.preemptionPolicy", "spec.priority", "spec.tolerations")
ADDRESS = all_of(ADDRESSES, "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy")
EMPTIES = all_of("the store empties a namespace by itself: no controller needs a finalizer of its own", "spec")
TABLE = all_of(COLUMNS, "columnDefinitions", "rows[0].cells")

DIFFERENT_PARTS = {
    **dict.fromkeys(("default Pod", "default Pod with everything", "default Pod of latest",
                     "default Pod of a version", "default Pod of a guaranteed quality",
                     "invalid Pod grace", "deleted Pod", "deleted Pod on a node"), POD),
    "status of a Pod": POD | all_of("an empty lastState means none", "status.containerStatuses[0].lastState"),
    "default Service": ADDRESS | all_of(ADDRESSES, "spec.clusterIP"),
    "deleted Service": ADDRESS | all_of(ADDRESSES, "spec.clusterIP"),
    "default Service with ports": ADDRESS,
    "default Namespace": EMPTIES,
    "deleted Namespace": EMPTIES,
    "default Node": all_of(SCHEDULING, "spec.taints") | all_of(NOT_SAID, "status"),
    "default Node with status": all_of(SCHEDULING, "spec.taints") | all_of(
        NOT_SAID, "status.daemonEndpoints", "status.nodeInfo", "status.conditions[0].lastHeartbeatTime",
        "status.conditions[0].lastTransitionTime"),
    "invalid Sandbox list": {"warnings": "the type is the fault; what is below it is not looked at"},
    "invalid Secret data": {"code": OUR_WORDS} | all_of(OUR_WORDS, "code", "details", "message", "reason"),
    "refused version of a new object": all_of(
        "the same, but named by kind as every other fault", "details.causes[0].message", "details.kind",
        "message"),
    "refused method": {"code": "custom kinds are refused like the others"} | all_of(
        "custom kinds are refused like the others: 405", "code", "message", "reason"),
    "refused media type": all_of(OUR_WORDS, "message"),
    "refused strategic patch": all_of("there is no server-side apply to offer", "message"),
    "refused path": all_of("the object is there; what is not there is the path", "details", "message"),
    "refused json patch": all_of(OUR_WORDS, "message"),
    "refused change of a Pod": all_of(GO_WORDS, "details.causes[0].message", "message"),
    "refused change of a claim": all_of("one fault is told once", "details.causes") | all_of(
        GO_WORDS, "message"),
    "refused change of a status": all_of(
        "ours names the whole path twice", "details.causes[0].message", "message"),
    "refused binding": all_of("the conflict is about the pod", "details.kind", "message"),
    "refused finalizer while it is deleted": all_of("one fault is told once", "details.causes"),
    "deleted Sandbox in the foreground": all_of(
        AT_ONCE, "apiVersion", "details", "kind", "metadata.creationTimestamp",
        "metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp", "metadata.finalizers",
        "metadata.generation", "metadata.name", "metadata.namespace", "metadata.resourceVersion",
        "metadata.uid", "spec", "status"),
    "discovery /api/v1": all_of("the real one leaves it out of this document alone", "apiVersion"),
    **dict.fromkeys(("table Pod", "table PersistentVolumeClaim", "table Secret", "table ConfigMap",
                     "table Event", "table Node", "table Service"), TABLE),
    "table NetworkPolicy": all_of(COLUMNS, "rows[0].cells[1]"),
}
