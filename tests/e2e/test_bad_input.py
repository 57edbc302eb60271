"""Wrong requests get an error that says what and where; the server goes on and keeps nothing of them."""

import pytest

TEMPLATE = {"name": "minimal", "kind": "ClusterSandboxTemplate"}


@pytest.mark.parametrize("body,word", [
    ({"templateRef": TEMPLATE}, "name"),
    ({"name": "Bad_Name!", "templateRef": TEMPLATE}, "name"),
    ({"name": "a" * 64, "templateRef": TEMPLATE}, "name"),
    ({"name": "ok"}, "templateRef"),
    ({"name": "ok", "templateRef": {"name": "no-such", "kind": "ClusterSandboxTemplate"}}, "no-such"),
    ({"name": "ok", "templateRef": TEMPLATE, "timeout": "30 minutes"}, "timeout"),
    ({"name": "ok", "templateRef": TEMPLATE, "timeout": "-1h"}, "timeout"),
    ({"name": "ok", "templateRef": TEMPLATE, "timeout": "0"}, "timeout"),
    ({"name": "ok", "templateRef": TEMPLATE, "idleTimeout": "9999999h"}, "idleTimeout"),
    ({"name": "ok", "templateRef": TEMPLATE, "storage": {"size": "ten"}}, "storage.size"),
    ({"name": 5, "templateRef": TEMPLATE}, "name"),
    ({"name": "ok", "templateRef": TEMPLATE, "colour": "red"}, "colour"),
])
def test_a_bad_create_names_the_field(api, body, word):
    before = len(api.get("/sandboxes").json()["sandboxes"])
    reply = api.post("/sandboxes", json=body)
    assert reply.status_code in (400, 404, 422), reply.text
    assert word in reply.text
    assert len(api.get("/sandboxes").json()["sandboxes"]) == before


def test_broken_json_is_a_400(api):
    reply = api.post("/sandboxes", content=b"{\"name\": ", headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert isinstance(reply.json()["error"], str)


def test_a_json_body_over_the_limit_is_a_413(api):
    reply = api.post("/sandboxes", json={"name": "x" * (2 << 20), "templateRef": TEMPLATE})
    assert reply.status_code == 413


def test_a_taken_name_is_a_conflict(server, sandbox):
    reply = server.client().post("/sandboxes", json={"name": sandbox.name, "templateRef": TEMPLATE})
    assert reply.status_code == 409
    assert sandbox.name in reply.text


@pytest.mark.parametrize("path", [
    "/files/../../etc/passwd", "/files/%2e%2e%2f%2e%2e%2fetc/passwd", "/files//etc/passwd",
    "/files/workspace/../etc/passwd", "/files/workspace/%00", "/files/etc/passwd",
])
def test_paths_outside_the_workspace_are_refused(server, sandbox, path):
    import http.client
    import urllib.parse
    address = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    connection.request("GET", f"/api/v1/sandboxes/{sandbox.name}{path}", headers={"X-API-Key": server.key})
    reply = connection.getresponse()
    assert reply.status in (400, 403, 404), reply.read()
    assert b"root:" not in reply.read()


def test_a_symlink_out_of_the_workspace_is_refused(sandbox):
    sandbox.out("ln -s /etc/passwd out && ln -s / rootlink")
    for path in ("out", "rootlink/etc/passwd"):
        reply = sandbox.http.get(f"/sandboxes/{sandbox.name}/files/workspace/{path}")
        assert reply.status_code in (400, 403), reply.text


def test_special_files_do_not_hang_file_calls(sandbox):
    sandbox.out("mkfifo pipe")
    reply = sandbox.http.get(f"/sandboxes/{sandbox.name}/files/workspace/pipe")
    assert reply.status_code == 400


def test_a_missing_image_is_an_error_that_names_it(server):
    api = server.client()
    reply = api.post("/sandboxes", json={"name": "noimage", "templateRef": TEMPLATE,
                                         "image": {"repository": "localhost:1/none:latest"}})
    assert reply.status_code == 201, reply.text
    from harness import eventually
    eventually(lambda: "localhost:1/none" in api.get("/sandboxes/noimage").json()["message"], 60,
               "a message that names the image")
    assert api.delete("/sandboxes/noimage").status_code == 204
    eventually(lambda: api.get("/sandboxes/noimage").status_code == 404, 30, "gone")


def test_only_known_callers_get_in(server):
    import httpx
    for headers in ({}, {"X-API-Key": "atk_wrong"}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}):
        reply = httpx.get(server.url + "/api/v1/sandboxes", headers=headers)
        assert reply.status_code == 401, headers


def test_a_revoked_key_stops_working_at_once(server):
    api = server.client()
    key = api.post("/user/api-keys", json={"name": "short"}).json()
    other = server.client(key["key"])
    assert other.get("/user/me").status_code == 200
    assert api.delete(f"/user/api-keys/{key['id']}").status_code == 200
    assert other.get("/user/me").status_code == 401
