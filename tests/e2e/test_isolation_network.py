"""Where a sandbox's packets get to. Each attempt is also made from where it works."""

import json
import pathlib
import uuid

import pytest

from isolation_world import INTERNET, METADATA, TCP_PORT, UDP_PORT, Attacked, run


@pytest.fixture(scope="module")
def opened(world, runtime_class):
    """A sandbox whose template opens the internet."""
    made = Attacked(world, runtime_class, network={"allowInternet": True})
    yield made
    made.delete()


def gateway_of(world):
    addresses = run("nsenter", f"--net=/run/netns/{world.inner}", "ip", "-j", "address").stdout
    return next(entry["local"] for device in json.loads(addresses) for entry in device["addr_info"]
                if device["ifname"].startswith("at") and entry["family"] == "inet")


TO_INTERNET = [("connect_tcp", INTERNET, str(TCP_PORT)), ("exchange_udp", INTERNET, str(UDP_PORT))]


@pytest.mark.parametrize("words", TO_INTERNET, ids=["by-tcp-is-refused", "by-udp-is-refused"])
def test_the_internet_when_closed(closed, words):
    assert closed.probe(*words)["outcome"] == "refused"


@pytest.mark.parametrize("words", TO_INTERNET, ids=["by-tcp-works", "by-udp-works"])
def test_the_internet_when_opened(opened, words):
    assert opened.probe(*words)["outcome"] == "done"


@pytest.fixture(params=["closed", "opened"])
def either(request, closed, opened):
    return {"closed": closed, "opened": opened}[request.param]


def test_the_metadata_address_is_refused(world, either):
    for words in (("connect_tcp", METADATA, str(TCP_PORT)), ("exchange_udp", METADATA, str(UDP_PORT))):
        assert either.probe(*words)["outcome"] == "refused"
        assert world.on_host(*words)["outcome"] == "done"


def test_the_api_is_refused_at_every_address_of_the_host(world, either):
    port = str(world.server.port)
    for address in (gateway_of(world), world.server.reached_at, "198.51.100.1"):
        assert either.probe("connect_tcp", address, port)["outcome"] == "refused"
        assert world.on_host("connect_tcp", address, port)["outcome"] == "done"
    assert either.probe("connect_tcp", "127.0.0.1", port)["outcome"] == "refused"


def test_other_sandboxes_are_refused(world, either, neighbour):
    words = ("connect_tcp", neighbour.ip(), "9000")  # its runtime, which listens there
    assert either.probe(*words)["outcome"] == "refused"
    assert world.on_host(*words)["outcome"] == "done"


def test_a_foreign_source_address_is_refused(opened, neighbour):
    text = "from-inside-" + uuid.uuid4().hex
    result = opened.probe("send_from_foreign_address", neighbour.ip(), INTERNET, str(UDP_PORT), text)
    assert result["outcome"] == "refused", result


def test_a_foreign_source_address_does_not_leave_even_for_root_in_its_network(world, neighbour):
    opened = Attacked(world, "native", network={"allowInternet": True})
    try:
        namespaces = pathlib.Path(world.server.state_dir).glob("network/netns/*")
        own = [n for n in namespaces if opened.ip() in run("nsenter", f"--net={n}", "ip", "address").stdout]
        assert len(own) == 1
        spoofed, honest = uuid.uuid4().hex, uuid.uuid4().hex
        for source, text in ((neighbour.ip(), spoofed), (METADATA, spoofed), ("203.0.113.9", spoofed),
                             (opened.ip(), honest)):
            sent = run("nsenter", f"--net={own[0]}", str(world.probe), "send_from_foreign_address",
                       source, INTERNET, str(UDP_PORT), text)
            assert '"outcome":"done"' in sent.stdout, sent.stdout
        came = world.outside.wait_for(honest)
        assert spoofed not in [datagram.get("said") for datagram in came]
    finally:
        opened.delete()
