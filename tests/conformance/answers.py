"""Makes an answer comparable, and says in which parts two answers differ."""

import json
import re

from kinds import KINDS

CLUSTER_IP, AGE = re.compile(r"^10\.96\.\d+\.\d+$"), re.compile(r"^\d+s$")
UID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
# What a server makes anew each time; times that a case gives are kept.
VARIES = {"uid": "UID", "resourceVersion": "VERSION", "creationTimestamp": "TIME", "deletionTimestamp": "TIME",
          "continue": "TOKEN", "timeAdded": "TIME"}
# Told apart in test_managed_fields.py; only for people; a hash of the server's own.
IGNORED = {"managedFields", "description", "storageVersionHash", "serverAddressByClientCIDRs"}
PLURALS = {(kind.api_version, kind.plural) for kind in KINDS}
GROUPS = {kind.group for kind in KINDS}


def normal(value, ns, key=None):
    if isinstance(value, dict):
        made = {k: normal(v, ns, k) for k, v in value.items() if k not in IGNORED}
        if made.get("kind") == "Status" and not made.get("details"):
            made.pop("details", None)
        if len(made.get("causes", [])) > 1:  # in no order
            made["causes"].sort(key=lambda cause: (cause["field"], cause["message"]))
        return made
    if isinstance(value, list):
        return [normal(item, ns, key) for item in value]
    if isinstance(value, str):
        if key in VARIES and value:
            return VARIES[key]
        if CLUSTER_IP.match(value):
            return "CLUSTER-IP"
        if AGE.match(value):
            return "AGE"
        return re.sub(r"ResourceVersion in record \(\d+\)", "ResourceVersion in record (VERSION)",
                      UID.sub("UID", value.replace(ns, "NS")))
    return value


def of_our_kinds(body):
    """A discovery document with the groups and kinds that both servers have, in one order."""
    if body.get("kind") == "APIGroupList":
        body["groups"] = sorted((g for g in body["groups"] if g["name"] in GROUPS), key=lambda g: g["name"])
    if body.get("kind") == "APIResourceList":
        version = body["groupVersion"]
        body["resources"] = sorted(
            (r for r in body["resources"] if (version, r["name"].split("/")[0]) in PLURALS
             and "/" not in r["name"].replace("/status", "").replace("/binding", "")),
            key=lambda r: r["name"])
        for resource in body["resources"]:
            resource["verbs"] = sorted(resource["verbs"])
    return body


def comparable(reply, ns):
    try:
        body = json.loads(reply.text)
    except json.JSONDecodeError:
        body = reply.text
    if isinstance(body, dict):
        body = of_our_kinds(body)
    answer = {"code": reply.status, "body": normal(body, ns)}
    if reply.status == 422 and len(answer["body"].get("details", {}).get("causes", [])) > 1:
        answer["body"]["message"] = answer["body"]["message"].split(": [")[0]
    if reply.warnings():
        answer["warnings"] = sorted(normal(reply.warnings(), ns))
    return answer


def differing(ours, wanted, path=""):
    """The paths at which they differ, the deepest that say it."""
    if isinstance(ours, dict) and isinstance(wanted, dict):
        return [p for key in sorted({*ours, *wanted})
                for p in (differing(ours[key], wanted[key], f"{path}.{key}" if path else key)
                          if key in ours and key in wanted else [f"{path}.{key}" if path else key])]
    if isinstance(ours, list) and isinstance(wanted, list) and len(ours) == len(wanted):
        return [p for i, pair in enumerate(zip(ours, wanted)) for p in differing(*pair, f"{path}[{i}]")]
    return [] if ours == wanted and type(ours) is type(wanted) else [path]
