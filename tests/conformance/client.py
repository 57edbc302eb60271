"""A client of the Kubernetes API that adds nothing to HTTP: what a server answers is what a test sees."""

import contextlib
import json
from types import NoneType

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
EVENT_SECONDS = 30  # within which an event that a test waits for must come


class Reply:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status_code, response.headers, response.text

    @property
    def body(self):
        return json.loads(self.text)

    def warnings(self):
        return [value for name, value in self.headers.multi_items() if name.lower() == "warning"]


class Api:
    def __init__(self, http):
        self.http = http

    def call(self, method, path, body=None, type=None, headers=None, **query):
        if type is None:
            type = MERGE if method == "PATCH" else "application/json"
        content = body if isinstance(body, (str, bytes, NoneType)) else json.dumps(body)
        sent = dict(headers or {})
        if content is not None:
            sent["Content-Type"] = type
        return Reply(self.http.request(method, path, content=content, headers=sent, params=query))

    def ok(self, method, path, body=None, type=None, **query):
        reply = self.call(method, path, body, type, **query)
        assert 200 <= reply.status < 300, f"{method} {path}: {reply.status} {reply.text}"
        return reply.body

    def refused(self, status, method, path, body=None, type=None, **query):
        """The Status object of a request that must fail with this status."""
        reply = self.call(method, path, body, type, **query)
        assert reply.status == status, f"{method} {path}: {reply.status} {reply.text}"
        answer = reply.body
        assert answer["kind"] == "Status" and answer["code"] == status, answer
        assert answer["status"] == "Failure", answer
        return answer

    def create(self, kind, ns, body, **query):
        return self.ok("POST", kind.path(ns), body, **query)

    def get(self, kind, ns, name, **query):
        return self.ok("GET", kind.path(ns, name), **query)

    def put(self, kind, ns, body, **query):
        return self.ok("PUT", kind.path(ns, body["metadata"]["name"]), body, **query)

    def patch(self, kind, ns, name, body, type=MERGE, subresource=None, **query):
        return self.ok("PATCH", kind.path(ns, name, subresource), body, type, **query)

    def delete(self, kind, ns, name, options=None, **query):
        return self.ok("DELETE", kind.path(ns, name), options, **query)

    def names(self, path, **query):
        return [item["metadata"]["name"] for item in self.ok("GET", path, **query)["items"]]

    def is_gone(self, kind, ns, name):
        return self.call("GET", kind.path(ns, name)).status == 404

    @contextlib.contextmanager
    def watch(self, path, headers=None, **query):
        """An open watch; iterate with next_event()."""
        query = {"watch": "true", **query}
        with self.http.stream("GET", path, params=query, headers=headers,
                              timeout=EVENT_SECONDS) as response:
            yield Watch(response)


class Watch:
    def __init__(self, response):
        self.status, self.response, self.lines = response.status_code, response, None

    def next(self):
        """The next event; None at the end of the watch."""
        if self.lines is None:
            self.lines = self.response.iter_lines()
        for line in self.lines:
            if line.strip():
                return json.loads(line)
        return None

    def take(self, count):
        return [self.next() for _ in range(count)]

    def rest(self):
        events = []
        while (event := self.next()) is not None:
            events.append(event)
        return events

    def refusal(self):
        """The Status object of a watch that was refused, at once or as its first event."""
        if self.status != 200:
            self.response.read()
            return json.loads(self.response.text)
        event = self.next()
        assert event["type"] == "ERROR", event
        return event["object"]





def summary(events):
    """["ADDED name", ...] of events."""
    return [f"{e['type']} {e['object']['metadata'].get('name', '')}".strip() for e in events]


def causes(status):
    return [(c.get("reason"), c.get("field")) for c in status["details"].get("causes", [])]
