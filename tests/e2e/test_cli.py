"""Goal: a person gets through the main job with the command line alone. The program is started as
in a shell; its configuration is the one that `agenttier up` wrote at its first start."""

import json
import os
import shutil
import subprocess
import threading
import uuid

import pytest
import yaml

from harness import BIN, IMAGES, eventually


@pytest.fixture
def cli(server):
    def run(*arguments, **more):
        done = server.cli(*arguments, **more)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout
    return run


def test_up_logs_the_local_command_line_in(server, cli):
    assert "admin" in cli("whoami")
    assert oct((server.state_dir / "admin.key").stat().st_mode & 0o777) == "0o600"
    assert oct((server.state_dir / "cli.json").stat().st_mode & 0o777) == "0o600"


def test_a_sandbox_from_create_to_delete(server, cli, tmp_path):
    name = "cli-" + uuid.uuid4().hex[:8]
    cli("sandbox", "create", name, "-t", "minimal", "--env", "PRICE=$5 $$ $(HOME)", "--wait")
    assert name in cli("sandbox", "list", "--status", "Running")
    assert cli("sandbox", "exec", name, 'printf %s "$PRICE"') == "$5 $$ $(HOME)"
    assert cli("sandbox", "exec", name, "cat", stdin="given\n") == "given\n"

    cli("sandbox", "files", "mkdir", name, "folder")
    cli("sandbox", "files", "write", name, "folder/note", "--data", "kept")
    cli("sandbox", "files", "mv", name, "folder/note", "folder/moved")
    assert "moved" in cli("sandbox", "files", "ls", name, "folder")
    big = tmp_path / "big"
    big.write_bytes(os.urandom(3_000_000))
    cli("sandbox", "files", "upload", name, str(big), "folder/big")
    cli("sandbox", "stop", name)
    cli("sandbox", "resume", name)
    cli("sandbox", "wait", name)
    assert cli("sandbox", "files", "cat", name, "folder/moved") == "kept"
    cli("sandbox", "files", "download", name, "folder/big", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == big.read_bytes()
    cli("sandbox", "files", "rm", name, "-r", "folder")
    assert "folder" not in cli("sandbox", "files", "ls", name)

    cli("sandbox", "patch", name, "--label", "team=a")
    assert json.loads(cli("sandbox", "get", name, "-o", "json"))["labels"]["team"] == "a"
    assert name in cli("sandbox", "list", "--label", "team=a")
    assert name not in cli("sandbox", "list", "--label", "team=b")
    cli("sandbox", "delete", name)
    eventually(lambda: name not in cli("sandbox", "list"), 60)


def test_exec_passes_the_exit_code_and_keeps_the_streams_apart(server, sandbox):
    done = server.cli("sandbox", "exec", sandbox.name, "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_exec_shows_output_as_it_comes(server, sandbox):
    environment = dict(os.environ, AGENTTIER_CONFIG=str(server.state_dir / "cli.json"))
    running = subprocess.Popen(
        [str(BIN / "agenttier"), "sandbox", "exec", sandbox.name, "echo first; cat >/dev/null; echo last"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    # The command goes on only when its input ends, so this line came while it ran.
    assert running.stdout.readline() == "first\n"
    running.stdin.close()
    assert running.stdout.read() == "last\n"
    assert running.wait(30) == 0


def test_several_words_are_a_program_and_its_arguments(cli, sandbox):
    assert cli("sandbox", "exec", sandbox.name, "--", "printf", "%s|", "a b", "$HOME") == "a b|$HOME|"


def test_logs_show_what_the_main_program_said(cli):
    template, name = "says-" + uuid.uuid4().hex[:8], "logs-" + uuid.uuid4().hex[:8]
    cli("template", "apply", "-f", "-", stdin=yaml.safe_dump({"name": template, "spec": {
        "image": {"repository": "agenttier/minimal"},
        "harness": {"command": ["sh", "-c", "echo first; echo second; exec sleep 1000"]}}}))
    cli("sandbox", "create", name, "-t", template, "--wait")
    eventually(lambda: "second" in cli("sandbox", "logs", name), 30, "the program's output")
    assert "first" in cli("sandbox", "logs", name)
    assert "first" not in cli("sandbox", "logs", name, "--tail", "1")
    cli("sandbox", "delete", name)
    eventually(lambda: name not in cli("sandbox", "list"), 60)
    cli("template", "delete", template)


@pytest.mark.parametrize("form, read", [("json", json.loads), ("yaml", yaml.safe_load)])
def test_output_can_be_read_by_programs(cli, sandbox, form, read):
    assert read(cli("sandbox", "get", sandbox.name, "-o", form))["name"] == sandbox.name
    assert read(cli("-o", form, "sandbox", "list"))


def test_templates_are_applied_and_deleted(server, cli, tmp_path):
    file = tmp_path / "template.yaml"
    file.write_text(yaml.safe_dump({"name": "cli-made", "spec": {
        "image": {"repository": "agenttier/minimal"}, "resources": {"limits": {"memory": "256Mi"}}}}))
    cli("template", "apply", "-f", str(file))
    assert "cli-made" in cli("template", "list")
    assert "256Mi" in cli("template", "get", "cli-made", "-o", "yaml")
    cli("template", "apply", "-f", "-", stdin=file.read_text().replace("256Mi", "300Mi"))
    assert "300Mi" in cli("template", "get", "cli-made", "-o", "json")
    cli("template", "delete", "cli-made")
    assert "cli-made" not in cli("template", "list")


def test_a_key_is_shown_once_and_ends_when_revoked(server, cli):
    made = json.loads(cli("apikeys", "create", "--name", "from-cli", "-o", "json"))
    secret = made["key"]
    listed = cli("apikeys", "list", "-o", "json")
    assert "from-cli" in listed and secret not in listed
    assert server.cli("whoami", "--api-key", secret).returncode == 0
    cli("apikeys", "revoke", made["id"])
    refused = server.cli("whoami", "--api-key", secret)
    assert refused.returncode != 0 and "Traceback" not in refused.stderr and refused.stderr


@pytest.mark.parametrize("words, said", [
    (("sandbox", "get", "no-such-sandbox"), "no-such-sandbox"),
    (("sandbox", "create", "Bad_Name", "-t", "minimal"), "name"),
    (("sandbox", "create", "fine", "-t", "no-such-template"), "no-such-template"),
    (("sandbox", "create", "fine"), "--template"),
    (("sandbox", "frobnicate"), "frobnicate"),
    (("sandbox", "list", "-o", "xml"), "xml"),
    (("template", "apply", "-f", "/no/such/file"), "/no/such/file"),
])
def test_a_mistake_is_named(server, words, said):
    done = server.cli(*words)
    assert done.returncode != 0
    assert said in done.stderr, done.stderr
    assert done.stdout == ""


def test_a_server_that_is_away_is_named(server):
    done = server.cli("sandbox", "list", "--api-url", "http://127.0.0.1:1")
    assert done.returncode != 0 and "127.0.0.1:1" in done.stderr


@pytest.mark.parametrize("shell, check", [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])])
def test_completion_scripts_can_be_read_by_their_shells(cli, shell, check, tmp_path):
    script = tmp_path / "completion"
    script.write_text(cli("completion", shell))
    assert "sandbox" in script.read_text()
    if shutil.which(shell):
        assert subprocess.run([*check, str(script)], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Debian's docker-registry on a free port with one image, agenttier/minimal under another name."""
    folder = tmp_path_factory.mktemp("registry")
    config = folder / "config.yml"
    config.write_text(yaml.safe_dump({
        "version": 0.1, "http": {"addr": "127.0.0.1:0"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}}}))
    process = subprocess.Popen(["docker-registry", "serve", str(config)], stderr=subprocess.PIPE, text=True)
    lines, found = [], threading.Event()

    def follow():  # until the end, so that it never waits for its reader
        for line in process.stderr:
            lines.append(line)
            if "listening on" in line:
                found.set()

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    try:
        assert found.wait(30), lines
        address = next(line for line in lines if "listening on" in line).split("listening on ")[1]
        address = address.split('"')[0].split(",")[0].strip()
        yield address
    finally:
        process.terminate()
        process.wait(10)
        reader.join(10)


def test_any_image_of_a_registry_runs_unchanged(server, cli, registry):
    subprocess.run(["skopeo", "copy", "--insecure-policy", "--dest-tls-verify=false", f"oci:{IMAGES}/minimal:latest",
                    f"docker://{registry}/team/any:v1"], check=True, capture_output=True)
    image = f"{registry}/team/any:v1"
    cli("image", "pull", image)
    assert image in cli("image", "list")
    name = "any-" + uuid.uuid4().hex[:8]
    cli("sandbox", "create", name, "-t", "minimal", "--image", image, "--wait")
    assert cli("sandbox", "exec", name, "echo runs") == "runs\n"
    cli("sandbox", "delete", name)
    eventually(lambda: name not in cli("sandbox", "list"), 60)
    cli("image", "rm", image)
    assert image not in cli("image", "list")
    missing = server.cli("image", "pull", f"{registry}/team/absent:v1")
    assert missing.returncode != 0 and "absent" in missing.stderr
