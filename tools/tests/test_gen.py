import json
import shutil

import gen
import jsonschema
import pytest
import yaml
from generator import cpp, crd, model, openapi, routes, samples


@pytest.fixture(scope="module")
def loaded():
    return model.load()


@pytest.fixture
def broken_schema(tmp_path):
    """A copy of schema/ with one text of one file replaced."""
    def break_it(file, old, new):
        shutil.copytree(model.SCHEMA_DIR, tmp_path / "schema")
        path = tmp_path / "schema" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return tmp_path / "schema"
    return break_it


def test_what_is_committed_is_what_the_schema_says(capsys):
    assert gen.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_file_is_named(monkeypatch, capsys):
    monkeypatch.setattr(gen, "outputs", lambda loaded: {"LICENSE": "other"})
    assert gen.main(["--check"]) == 1
    assert "LICENSE" in capsys.readouterr().out


@pytest.mark.parametrize("json_name, expected", [
    ("templateRef", "template_ref"), ("podIP", "pod_ip"), ("podIPs", "pod_ips"),
    ("useHTTPExec", "use_http_exec"), ("hostPID", "host_pid"), ("fsGroup", "fs_group"),
    ("downwardAPI", "downward_api"), ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
    ("clusterIPs", "cluster_ips"), ("operator", "operator_"), ("namespace", "ns"),
    ("continue", "continue_"), ("previewUrl", "preview_url"),
])
def test_members_are_named_in_snake_case(json_name, expected):
    assert cpp.member_name(json_name) == expected


@pytest.mark.parametrize("file, old, new, message", [
    ("sandbox.yaml", "phaseSince: {type: string", "phaseSince: {typo: string", "unknown keyword typo"),
    ("sandbox.yaml", "#/$defs/SandboxFailure", "#/$defs/Nothing", "leads nowhere"),
    ("sandbox.yaml", "required: [port, previewUrl]", "required: [port, colour]", "requires colour"),
])
def test_a_schema_that_makes_no_sense_is_refused_with_the_place(broken_schema, file, old, new, message):
    with pytest.raises(model.SchemaError) as error:
        model.load(broken_schema(file, old, new))
    assert message in str(error.value) and file in str(error.value)


def test_a_row_without_authorization_is_refused(broken_schema, loaded):
    directory = broken_schema("routes.yaml", "who: admin, ", "")
    with pytest.raises(model.SchemaError, match="who is missing"):
        routes.load(loaded, directory)


def structural_problems(schema, where=""):
    """What a kube-apiserver demands of a structural schema."""
    if not {"type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"} & set(schema):
        yield f"{where}: neither a type nor free"
    if "$ref" in schema or "anyOf" in schema or "nullable" in schema:
        yield f"{where}: a keyword that is not structural"
    if "properties" in schema and "additionalProperties" in schema:
        yield f"{where}: properties and additionalProperties"
    if schema.get("x-kubernetes-list-type") == "map":
        for key in schema["x-kubernetes-list-map-keys"]:
            items = schema["items"]
            if key not in items["required"] and "default" not in items["properties"][key]:
                yield f"{where}: the key {key} of a map list is neither required nor has a default"
    for name, child in schema.get("properties", {}).items():
        yield from structural_problems(child, f"{where}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from structural_problems(schema[keyword], f"{where}.{keyword}")


def test_the_crds_are_structural(loaded):
    for kind in loaded.kinds():
        if kind.kind.get("crd"):
            document = yaml.safe_load(crd.crd_yaml(loaded, kind))
            schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            assert list(structural_problems(schema)) == []
            assert document["metadata"]["name"] == f"{kind.kind['plural']}.agenttier.io"


def test_only_the_sandbox_has_a_status(loaded):
    found = {kind.name: crd.crd_yaml(loaded, kind).count("subresources:")
             for kind in loaded.kinds() if kind.kind.get("crd")}
    assert found == {"Sandbox": 1, "SandboxTemplate": 0, "ClusterSandboxTemplate": 0}


def document_of(loaded):
    return openapi.document(loaded, routes.load(loaded), routes.load_errors())


def test_the_openapi_schemas_are_valid_and_take_their_samples(loaded):
    document = document_of(loaded)
    text = json.dumps(document["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
    definitions = json.loads(text)
    for name in definitions:
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                  "$ref": f"#/$defs/{name}", "$defs": definitions}
        jsonschema.Draft202012Validator.check_schema(schema)
        value = samples.sample(model.expanded(loaded, loaded.types[name].schema))
        jsonschema.Draft202012Validator(schema).validate(value)


def test_every_reference_of_the_openapi_document_leads_somewhere(loaded):
    document = document_of(loaded)
    for reference in json.dumps(document).split('"#/components/schemas/')[1:]:
        assert reference.split('"')[0] in document["components"]["schemas"]


def test_wrapped_json_says_the_same():
    value = {"a": ["x,y\"\\", {"b": "\u00e4" * 300}], "c": list(range(200))}
    text = crd.wrapped_json(value)
    assert json.loads(text) == value
    assert max(len(line) for line in text.splitlines() if "\u00e4" not in line) < 130
