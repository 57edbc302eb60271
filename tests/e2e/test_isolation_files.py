"""Ways out of the workspace through the file calls of the API."""

import io
import threading
import zipfile

import pytest

ANSWER_SECONDS = 20  # a bound of liveness: no call may hang, whatever the file is


def files(attacked, path):
    return f"/sandboxes/{attacked.name}/files{path}"


def call(attacked, method, path, **more):
    return attacked.http.request(method, path, timeout=ANSWER_SECONDS, **more)


# what a program makes, what is then read through the API, what it reads itself to show what is there
READS = {
    "a-symlink-to-a-file": ("ln -s /etc/passwd {d}/link", "{d}/link", "{d}/link"),
    "a-symlink-to-a-folder": ("ln -s /etc {d}/link", "{d}/link/passwd", "{d}/link/passwd"),
    "a-relative-symlink": ("ln -s ../../etc/passwd {d}/link", "{d}/link", "{d}/link"),
    "a-chain-of-symlinks": ("ln -s /etc {d}/b; ln -s b {d}/link", "{d}/link/passwd", "{d}/link/passwd"),
    "a-symlink-to-proc-self-root": ("ln -s /proc/self/root {d}/link", "{d}/link/etc/passwd",
                                    "{d}/link/etc/passwd"),
    "a-symlink-to-proc-1-root": ("ln -s /proc/1/root {d}/link", "{d}/link/etc/passwd", "/etc/passwd"),
    "a-symlink-to-a-descriptor": ("ln -s /proc/self/fd {d}/link", "{d}/link/0", "/etc/passwd"),
    "a-symlink-to-the-environment": ("ln -s /proc/self/environ {d}/link", "{d}/link", "/etc/passwd"),
    "dot-dot": ("true", "/workspace/%2e%2e/etc/passwd", "/etc/passwd"),
    "dot-dot-with-an-encoded-slash": ("true", "/workspace/..%2fetc%2fpasswd", "/etc/passwd"),
    "dot-dot-from-the-temporary-folder": ("true", "/tmp/%2e%2e/etc/passwd", "/etc/passwd"),
    "an-absolute-path": ("true", "/etc/passwd", "/etc/passwd"),
    "an-absolute-path-in-proc": ("true", "/proc/self/root/etc/passwd", "/etc/passwd"),
    "a-name-with-a-nul": ("true", "/workspace/x%00/../../etc/passwd", "/etc/passwd"),
}


@pytest.fixture
def folder(closed):
    made = closed.out("mktemp -d /workspace/files-XXXXXX").strip()
    yield made
    closed.exec(f"rm -rf {made}")


@pytest.mark.parametrize("way", READS, ids=lambda way: f"{way}-is-refused")
def test_reading_by(closed, folder, way):
    make, path, inside = (text.format(d=folder) for text in READS[way])
    closed.out(make)
    assert "root:" in closed.out(f"cat {inside}")  # it is there, for the program
    reply = call(closed, "GET", files(closed, path))
    assert reply.status_code in (400, 403, 404), (reply.status_code, reply.text[:300])
    assert "root:" not in reply.text
    # HEAD tells of a link what the link is, and nothing of what it leads to.
    head = call(closed, "HEAD", files(closed, path))
    if head.status_code == 200:
        assert head.headers["Content-Length"] == str(len(closed.out(f"readlink -n {path}")))
    else:
        assert head.status_code in (400, 403, 404)
    listed = call(closed, "GET", f"/sandboxes/{closed.name}/files", params={"path": path.replace("%2e", ".")})
    assert "root:" not in listed.text and '"shadow"' not in listed.text


@pytest.fixture
def outside(closed, folder):
    """A folder that a program may write to and the file calls may not, and a symlink to it."""
    made = closed.out("mktemp -d /dev/shm/outside-XXXXXX").strip()
    closed.out(f"echo theirs > {made}/present; ln -s {made} {folder}/way; echo own > {folder}/own")
    yield made
    closed.exec(f"rm -rf {made}")


def test_writing_through_a_symlink_is_refused(closed, folder, outside):
    closed.out(f"echo x > {folder}/way/by-hand")  # the way is open to a program
    for path in (f"{folder}/way/new", f"{folder}/way/present", f"{folder}/way/deep/new"):
        reply = call(closed, "PUT", files(closed, path), content=b"written")
        assert reply.status_code in (400, 403), reply.text
    closed.out(f"ln -s {outside}/present {folder}/file-way")
    call(closed, "PUT", files(closed, f"{folder}/file-way"), content=b"written")
    assert closed.out(f"cd {outside} && echo *").split() == ["by-hand", "present"]
    assert closed.out(f"cat {outside}/present") == "theirs\n"


def test_deleting_through_a_symlink_is_refused(closed, folder, outside):
    reply = call(closed, "DELETE", files(closed, f"{folder}/way/present"))
    assert reply.status_code in (400, 403), reply.text
    # The link itself is the caller's to delete, and what it led to stays.
    assert call(closed, "DELETE", files(closed, f"{folder}/way"), params={"recursive": "true"}).status_code == 204
    assert closed.out(f"cat {outside}/present") == "theirs\n"


def test_deleting_a_tree_does_not_follow_its_symlinks(closed, folder, outside):
    closed.out(f"mkdir -p {folder}/tree/sub; ln -s {outside} {folder}/tree/sub/way")
    reply = call(closed, "DELETE", files(closed, f"{folder}/tree"), params={"recursive": "true"})
    assert reply.status_code == 204, reply.text
    assert closed.out(f"cat {outside}/present") == "theirs\n"


@pytest.mark.parametrize("operation", ["move", "mkdir"], ids=lambda o: f"{o}-is-refused")
def test_through_a_symlink(closed, folder, outside, operation):
    bodies = {"move": [{"from": f"{folder}/own", "to": f"{folder}/way/taken"},
                       {"from": f"{folder}/way/present", "to": f"{folder}/stolen"}],
              "mkdir": [{"path": f"{folder}/way/made"}]}
    for body in bodies[operation]:
        reply = call(closed, "POST", f"/sandboxes/{closed.name}/files-op/{operation}", json=body)
        assert reply.status_code in (400, 403), reply.text
    assert closed.out(f"cd {outside} && echo *") == "present\n"


def test_a_hard_link_leads_nowhere(closed, folder):
    for target in ("/etc/passwd", "/.agenttier/runtime", "/proc/self/environ", "/dev/null"):
        assert closed.exec(f"ln {target} {folder}/hard")["exitCode"] != 0


def test_an_archive_holds_nothing_of_what_symlinks_lead_to(closed, folder, outside):
    closed.out(f"ln -s /etc/passwd {folder}/passwd; mkfifo {folder}/fifo")
    reply = call(closed, "GET", f"/sandboxes/{closed.name}/archive", params={"path": folder})
    assert reply.status_code == 200, reply.text[:300]
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        names = archive.namelist()
        whole = b"".join(archive.read(name) for name in names)
    assert any(name.endswith("own") for name in names), names
    assert b"root:" not in whole and b"theirs" not in whole


def test_a_fifo_is_refused_and_holds_up_nothing(closed, folder):
    closed.out(f"mkfifo {folder}/fifo")
    for _ in range(8):  # more than there are threads to hang
        reply = call(closed, "GET", files(closed, f"{folder}/fifo"))
        assert reply.status_code in (400, 403), reply.text
    assert call(closed, "HEAD", files(closed, f"{folder}/fifo")).status_code in (200, 400, 403)
    assert call(closed, "PUT", files(closed, f"{folder}/other"), content=b"x").status_code == 201
    # An upload takes its place and is not written into it.
    reply = call(closed, "PUT", files(closed, f"{folder}/fifo"), content=b"x")
    assert reply.status_code in (201, 400, 403, 409), reply.text


def test_a_socket_is_refused_and_holds_up_nothing(closed, folder):
    closed.out(f"timeout 1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9000'; "
               f"cd {folder} && ln -s /dev/stdin stdin && ln -s /dev/zero zero && ln -s /dev/tty tty")
    for name in ("stdin", "zero", "tty"):
        assert call(closed, "GET", files(closed, f"{folder}/{name}")).status_code in (400, 403, 404)


def test_a_folder_that_turns_into_a_symlink_is_never_followed(closed, folder):
    """The race between a look at the path and its use."""
    closed.out(f"mkdir {folder}/real; echo inside > {folder}/real/passwd; ln -s /etc {folder}/evil")
    flip = (f"cd {folder}; cp -r real swap; while true; do mv -T swap was 2>/dev/null; "
            f"ln -sfn /etc swap 2>/dev/null; rm -rf swap; mv -T was swap 2>/dev/null; done")
    ended = threading.Event()

    def flip_on():
        closed.http.post(f"/sandboxes/{closed.name}/exec", json={"command": flip, "timeout": 8})
        ended.set()

    flipping = threading.Thread(target=flip_on)
    flipping.start()
    seen = {}
    while not ended.is_set():
        reply = call(closed, "GET", files(closed, f"{folder}/swap/passwd"))
        assert "root:" not in reply.text
        seen[reply.status_code] = seen.get(reply.status_code, 0) + 1
    flipping.join()
    assert seen.get(200), seen  # it was read, at times as what it should be
