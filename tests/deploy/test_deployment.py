"""The files for deployment name what exists, and agree with each other and the service; Docker itself is not run."""

from __future__ import annotations

import fnmatch
import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from codec_superb.server.http.request_limits import ADDRESS
from codec_superb.server.http.requests import HEALTH_PATHS
from codec_superb.server.http.slow_clients import HEAD_SECONDS, HEADER_BYTES
from codec_superb.server.ingest.receive import LONGEST
from codec_superb.server.serving import AFTER_SHUTDOWN
from codec_superb.server.settings import MEGABYTE, Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
CADDYFILE = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
LINES = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]


def _instructions(name: str) -> list[str]:
    return [rest for instruction, rest in (line for line in LINES if len(line) == 2) if instruction == name]


def _sources() -> list[str]:
    """Everything that the image takes from the repository."""
    copies = [rest.split() for rest in _instructions("COPY") if not rest.startswith("--from")]
    return [source for copy in copies for source in copy[:-1]]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """Read the compose file."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


class TestDockerfile:
    """``deploy/Dockerfile``."""

    def test_copies_what_exists_and_what_the_package_needs(self) -> None:
        """Each source is there, no folder that the package links to is missing, and nothing more comes along."""
        sources = set(_sources())
        assert all((ROOT / source).exists() for source in sources)
        linked = {link.name for link in (ROOT / "src/codec_superb").iterdir() if link.is_symlink()}
        assert sources == linked | {"src", "constraints.txt", "pyproject.toml", "README.md", "LICENSE"}

    def test_the_context_lets_exactly_these_through(self) -> None:
        """What .dockerignore excludes first it lets in again by name: no environment, run or secret is sent."""
        rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
        assert rules[0] == "*"
        assert {rule[1:] for rule in rules if rule.startswith("!")} == set(_sources())
        after = [rule for rule in rules[1:] if not rule.startswith("!")]
        assert any(fnmatch.fnmatch("server/__pycache__", rule.replace("**/", "*/")) for rule in after)

    def test_installs_the_service_with_pinned_versions_and_without_torch(self) -> None:
        """The only install is that of the extra under the constraints; no torch is asked for."""
        (install,) = re.findall(r"pip install [^&\n]*", DOCKERFILE)
        assert "-c constraints.txt" in install
        assert install.split()[-1] == "'.[server]'"
        assert "torch" not in DOCKERFILE

    def test_runs_as_nobody_and_says_how_it_is(self) -> None:
        """The process is not root, its data lie in a volume, and its health is asked where it listens."""
        (user,) = _instructions("USER")
        assert user != "root"
        assert f"useradd --system --uid 10001 --no-create-home --home-dir /data {user}" in DOCKERFILE
        assert _instructions("VOLUME") == ["/data"]
        assert f"-o {user} /data /backups" in DOCKERFILE  # a new volume has the owner of the folder that it covers
        assert "CODEC_SUPERB_SERVER_STORAGE=/data" in DOCKERFILE
        assert "http://127.0.0.1:8000/healthz" in DOCKERFILE
        assert json.loads(_instructions("CMD")[-1]) == ["serve", "--host", "0.0.0.0"]

    def test_builds_on_the_python_of_the_constraints(self) -> None:
        """Both stages have the same Python, since an environment moves from one to the other."""
        images = {rest.split()[0] for rest in _instructions("FROM")}
        assert images == {"python:3.11-slim"}


def _told() -> str:
    """Everything that tells maintainers what to type."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *DEPLOY.iterdir()]
    return " ".join(" ".join(file.read_text(encoding="utf-8") for file in files).split())


class TestCompose:
    """``deploy/compose.yaml``."""

    def test_run_adds_to_the_entrypoint_and_exec_knows_none(self) -> None:
        """A recipe with ``run`` has the program's name from the image; one with ``exec`` has to say it."""
        (program,) = json.loads(_instructions("ENTRYPOINT")[-1])
        recipes = re.findall(r"docker compose (run|exec)(?: -\S+)* service ([\w-]+)", _told())
        assert {how for how, _ in recipes} == {"run", "exec"}
        for how, first in recipes:
            assert (first == program) == (how == "exec"), (how, first)

    def test_sets_settings_that_exist(self, compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """The service's environment is read by Settings as it stands."""
        variables = compose["services"]["service"]["environment"]
        for name, value in variables.items():
            monkeypatch.setenv(name, re.sub(r"\$\{\w+:\?[^}]*\}", "given", re.sub(r"\$\{\w+:-(\w+)\}", r"\1", value)))
        settings = Settings()
        given = {name.removeprefix("CODEC_SUPERB_SERVER_").lower() for name in variables}
        assert given == settings.model_fields_set
        assert settings.https
        assert settings.database_url.startswith("postgresql+psycopg://")

    def test_the_worker_has_the_service_s_image_database_and_files(self, compose: dict[str, Any]) -> None:
        """It runs again what the service accepted, by the command that the program has."""
        service, worker = compose["services"]["service"], compose["services"]["worker"]
        assert worker["command"] == ["verify-worker"]
        assert worker["image"] == service["image"]
        database = "CODEC_SUPERB_SERVER_DATABASE"
        assert worker["environment"] == {database: service["environment"][database]}
        assert set(worker["volumes"]) < set(service["volumes"])
        assert Settings().verify_accepted

    def test_trusts_the_proxy_alone(self, compose: dict[str, Any]) -> None:
        """The one trusted address is the fixed one of the proxy, within the network."""
        trusted = compose["services"]["service"]["environment"]["CODEC_SUPERB_SERVER_TRUSTED_PROXIES"].split(",")
        proxy = compose["services"]["proxy"]["networks"]["behind"]["ipv4_address"]
        (network,) = compose["networks"]["behind"]["ipam"]["config"]
        assert trusted == [proxy]
        subnet, drawn = ipaddress.ip_network(network["subnet"]), ipaddress.ip_network(network["ip_range"])
        assert ipaddress.ip_address(proxy) in subnet
        assert drawn.subnet_of(subnet)
        # the database starts first, and would have the first free address of the network
        assert ipaddress.ip_address(proxy) not in drawn

    def test_mounts_and_variables_exist(self, compose: dict[str, Any]) -> None:
        """Each named volume is declared, each mounted file is there, and each variable is in the example."""
        mounts = [mount for service in compose["services"].values() for mount in service.get("volumes", [])]
        for mount in mounts:
            source = mount.split(":")[0]
            assert (DEPLOY / source).is_file() if source.startswith(".") else source in compose["volumes"]
        assert {"storage:/data", "backups:/backups"} <= set(compose["services"]["service"]["volumes"])
        variables = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
        assert variables == set(re.findall(r"^(\w+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE))
        build = compose["services"]["service"]["build"]
        assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")

    def test_only_the_proxy_is_reachable_and_stopping_takes_its_time(self, compose: dict[str, Any]) -> None:
        """Neither database nor service has a public port, and uploads have their time to finish."""
        assert [name for name, service in compose["services"].items() if "ports" in service] == ["proxy"]
        grace = int(compose["services"]["service"]["stop_grace_period"].removesuffix("s"))
        assert grace > Settings().shutdown_seconds + AFTER_SHUTDOWN


class TestProxy:
    """``deploy/Caddyfile``."""

    def test_hides_what_is_internal(self) -> None:
        """All probes but the plain sign of life are answered 404 by the proxy itself."""
        (matcher,) = re.findall(r"@internal path (.*)", CADDYFILE)
        for path in HEALTH_PATHS - {"/healthz"}:
            assert {path, f"{path}/*"} <= set(matcher.split())
        assert "respond @internal 404" in CADDYFILE

    def test_lets_the_largest_submission_through(self) -> None:
        """The proxy's limit is the service's, with room for the form around the file and not much more."""
        (limit,) = re.findall(r"max_size (\d+)MB", CADDYFILE)
        assert Settings().upload_limit < int(limit) * MEGABYTE <= 1.05 * Settings().upload_limit

    def test_lets_the_largest_head_through(self) -> None:
        """Whatever the service takes of an address and of headers, and little more."""
        (limit,) = re.findall(r"max_header_size (\d+)kb", CADDYFILE)
        added = 4096  # by Go's server
        assert ADDRESS + HEADER_BYTES <= int(limit) * 1000 + added <= ADDRESS + HEADER_BYTES + added

    def test_gives_up_what_comes_slowly(self) -> None:
        """Heads no later than the service itself, bodies no sooner."""
        (head,) = re.findall(r"read_header (\d+)s", CADDYFILE)
        (body,) = re.findall(r"read_body (\d+)m", CADDYFILE)
        assert int(head) <= HEAD_SECONDS
        assert int(body) * 60 >= LONGEST

    def test_leaves_compression_to_the_service(self) -> None:
        """No second compression, which would spoil the entity tags."""
        assert not re.search(r"^\s*encode\b", CADDYFILE, re.MULTILINE)
