"""Reads schema/*.yaml into types that the writers of C++, CRDs and OpenAPI share.

A type is a definition below `$defs` of a schema file. Beside JSON Schema 2020-12 these keywords are
understood; schema/README.md explains them: x-header, x-kind, x-plain, x-free-form, x-strict,
x-key-format, x-kubernetes-*.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SCHEMA_DIR = ROOT / "schema"

KNOWN_KEYWORDS = {
    "$ref", "additionalProperties", "default", "deprecated", "description", "enum", "format",
    "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
    "minProperties", "minimum", "properties", "required", "type", "x-free-form", "x-key-format",
    "x-kind", "x-nullable", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
    "x-plain", "x-strict",
}


class SchemaError(Exception):
    """The schema says something that the generator cannot honour; the text names where."""


@dataclass
class Type:
    """One object type: a C++ struct, an OpenAPI component, perhaps a kind of the API."""

    name: str
    header: str
    schema: dict

    @property
    def kind(self) -> dict | None:
        return self.schema.get("x-kind")

    @property
    def strict(self) -> bool:
        return bool(self.schema.get("x-strict"))

    @property
    def properties(self) -> dict:
        return self.schema.get("properties", {})

    @property
    def required(self) -> list[str]:
        return self.schema.get("required", [])


@dataclass
class Header:
    """One schema file and the C++ header made from it."""

    name: str
    title: str
    description: str
    types: list[Type] = field(default_factory=list)


@dataclass
class Model:
    headers: list[Header]
    types: dict[str, Type]

    def kinds(self) -> list[Type]:
        return [t for t in self.types.values() if t.kind]


def ref_name(ref: str) -> str:
    return ref.rsplit("/", 1)[-1]


def snake(name: str) -> str:
    """podIPs -> pod_ips, useHTTPExec -> use_http_exec."""
    name = re.sub(r"([A-Z])([A-Z]+)s(?=$|[A-Z])", lambda m: m.group(0).capitalize(), name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.replace("-", "_").lower()


def _check(where: str, schema: dict, names: set[str], files: dict[str, set[str]], own: str) -> None:
    unknown = set(schema) - KNOWN_KEYWORDS
    if unknown:
        raise SchemaError(f"{where}: unknown keyword {', '.join(sorted(unknown))}")
    if "$ref" in schema:
        file, _, name = schema["$ref"].partition("#/$defs/")
        if name not in files.get(file or own, set()):
            raise SchemaError(f"{where}: $ref to {schema['$ref']} leads nowhere")
    elif "type" not in schema and not schema.get("x-free-form"):
        raise SchemaError(f"{where}: has no type")
    for required in schema.get("required", []):
        if required not in schema.get("properties", {}):
            raise SchemaError(f"{where}: requires {required}, which is no property")
    for name, child in schema.get("properties", {}).items():
        _check(f"{where}.{name}", child, names, files, own)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            _check(f"{where}.{keyword}", schema[keyword], names, files, own)
    if schema.get("type") == "object" and "properties" not in schema \
            and "additionalProperties" not in schema and "." in where:
        raise SchemaError(f"{where}: an object needs properties, or x-free-form")


def _sorted_by_use(types: list[Type]) -> list[Type]:
    """Types in an order in which each comes after those it holds."""
    local = {t.name: t for t in types}
    done: dict[str, Type] = {}
    active: list[str] = []

    def uses(schema: dict):
        if "$ref" in schema:
            yield ref_name(schema["$ref"])
        for child in schema.get("properties", {}).values():
            yield from uses(child)
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                yield from uses(schema[keyword])

    def visit(t: Type) -> None:
        if t.name in done:
            return
        if t.name in active:
            raise SchemaError(f"{t.name}: contains itself through {' -> '.join(active)}")
        active.append(t.name)
        for used in uses(t.schema):
            if used in local:
                visit(local[used])
        active.pop()
        done[t.name] = t

    for t in types:
        visit(t)
    return list(done.values())


def load(directory: Path = SCHEMA_DIR) -> Model:
    documents = {}
    for path in sorted(directory.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        if "x-header" in document:
            documents[path.name] = document
    files = {name: set(document["$defs"]) for name, document in documents.items()}
    headers, types = [], {}
    for name, document in documents.items():
        header = Header(document["x-header"], document["title"], document["description"])
        found = []
        for type_name, schema in document["$defs"].items():
            if type_name in types:
                raise SchemaError(f"{name}: {type_name} is defined twice")
            _check(f"{name}: {type_name}", schema, set(types), files, name)
            types[type_name] = Type(type_name, header.name, schema)
            found.append(types[type_name])
        header.types = _sorted_by_use(found)
        headers.append(header)
    return Model(headers, types)


def expanded(model: Model, schema: dict) -> dict:
    """The schema with every $ref put in place; keywords beside a $ref win over its own."""
    schema = copy.deepcopy(schema)
    if "$ref" in schema:
        target = expanded(model, model.types[ref_name(schema.pop("$ref"))].schema)
        target.update(schema)
        return target
    if "properties" in schema:
        schema["properties"] = {k: expanded(model, v) for k, v in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            schema[keyword] = expanded(model, schema[keyword])
    return schema
