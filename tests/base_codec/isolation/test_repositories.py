"""Packages that are in no registry: the locked commit of a git repository, fetched by git itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from support.codecs.isolated import link_numpy, tiny_card

from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import all_environments, ensure_built, find_environment
from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import Lock, current_platform, open_lock
from codec_superb.base_codec.isolation.repositories import fetch_repositories
from codec_superb.cli.main import call

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
GUEST = """
import halver


class Guest:
    def __init__(self, card, device):
        pass

    def encode(self, audio):
        return halver.encode(audio)

    def decode(self, tokens, channels):
        return halver.decode(tokens)
"""
PACKAGE = """
import numpy as np

VERSION = {version}


def encode(audio):
    return (np.rint(audio * 16383) + 32768).astype(np.int32)


def decode(tokens):
    return (tokens.astype(np.float32) - 32768) / 16383
"""


@pytest.fixture(autouse=True)
def _own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give git a configuration of the test's own, and codecs a home."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CODEC_SUPERB_INSTALLER", "pip")


class Published:
    """A repository as a forge would serve it, with a package in a folder of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, folder.as_uri()
        (folder / "source" / "halver").mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.first = self.commit(1)

    def git(self, *arguments: str) -> str:
        """Call git in it."""
        who = ("-c", "user.name=Author", "-c", "user.email=author@example.org")
        command = ["git", "-C", str(self.folder), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, version: int) -> str:
        """Publish another version of the package; return its commit."""
        (self.folder / "source" / "halver" / "__init__.py").write_text(PACKAGE.format(version=version))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"version {version}")
        return self.git("rev-parse", "HEAD")

    def lock(self, commit: str, folder: str = "source", url: str = "") -> Lock:
        """Return a lock that asks for ``commit``."""
        path = self.folder.with_name("small.txt")
        head = f"# python: {VERSION}\n# platform: {current_platform()}\n"
        path.write_text(f"{head}# repository: halver {url or self.url} {commit} {folder}\n")
        return open_lock(str(path))


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """Return a repository with one commit."""
    return Published(tmp_path / "forge" / "halver")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return a folder laid out as an environment."""
    folder = tmp_path / "environment"
    (folder / "lib" / f"python{VERSION}" / "site-packages").mkdir(parents=True)
    return folder


def version_in(environment: Path) -> str:
    """Return the version that the path file of the environment leads to."""
    (path,) = environment.rglob("repository-halver.pth")
    text = (Path(path.read_text().strip()) / "halver" / "__init__.py").read_text()
    return text.split("VERSION = ")[1].splitlines()[0]


class TestFetching:
    """`fetch_repositories`."""

    def test_the_locked_commit_comes_although_the_branch_moved_on(
        self, published: Published, environment: Path
    ) -> None:
        """What is on the import path is the commit of the lock, without git's own files."""
        published.commit(2)
        fetch_repositories(published.lock(published.first), environment)
        assert version_in(environment) == "1"
        assert [path.name for path in (environment / "repositories" / "halver").iterdir()] == ["source"]

    def test_a_server_that_gives_branches_only_is_asked_for_them(self, published: Published, environment: Path) -> None:
        """Where the commit alone is refused, everything is fetched, and the commit found in it."""
        published.commit(2)
        Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("[protocol]\n\tversion = 0\n")
        elsewhere = environment.with_name("elsewhere")
        published.git("init", "--quiet", str(elsewhere))
        command = ["git", "fetch", "--depth", "1", published.url, published.first]
        refused = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
        assert "Server does not allow request for unadvertised object" in refused.stderr
        fetch_repositories(published.lock(published.first), environment)
        assert version_in(environment) == "1"

    def test_a_mirror_of_the_users_configuration_is_used(self, published: Published, environment: Path) -> None:
        """`insteadOf` of git's own configuration holds, so a lab's mirror can stand in for the forge."""
        mirror = f'[url "{published.folder.parent.as_uri()}/"]\n\tinsteadOf = https://forge.example/author/\n'
        Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text(mirror)
        lock = published.lock(published.first, url="https://forge.example/author/halver")
        fetch_repositories(lock, environment)
        assert version_in(environment) == "1"

    def test_a_commit_that_is_not_there_is_named(self, published: Published, environment: Path) -> None:
        """Repository, commit and lock are in the error."""
        with pytest.raises(EnvironmentFailed, match=f"{published.url} has no commit {40 * '1'}, which the lock small"):
            fetch_repositories(published.lock(40 * "1"), environment)

    def test_something_else_than_the_commit_is_refused(self, published: Published, environment: Path) -> None:
        """The hash of a tag leads to a commit of another hash: what is checked out must be what was locked."""
        published.git("tag", "--annotate", "v1", "--message", "first")
        tag = published.git("rev-parse", "v1")
        with pytest.raises(EnvironmentFailed, match=f"expected commit {tag} of .*, got {published.first}"):
            fetch_repositories(published.lock(tag), environment)

    def test_a_repository_that_cannot_be_reached_says_what_git_said(
        self, published: Published, environment: Path
    ) -> None:
        """No password is asked for; git's own words and what to do are in the error."""
        lock = published.lock(published.first, url=f"{published.url}-gone")
        with pytest.raises(EnvironmentFailed, match=r"(?s)git ended with 128.*does not.*git config --list.*env build"):
            fetch_repositories(lock, environment)

    def test_without_git_it_says_what_to_install(
        self, published: Published, environment: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The package that needs it, and how to get git."""
        lock = published.lock(published.first)
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(EnvironmentFailed, match=r"needs git, .*: halver is in no registry .* apt install git"):
            fetch_repositories(lock, environment)

    def test_a_folder_that_is_not_in_it_is_named(self, published: Published, environment: Path) -> None:
        """A wrong folder would show as an import error much later."""
        with pytest.raises(EnvironmentFailed, match=f"expected a folder src in {published.url} at {published.first}"):
            fetch_repositories(published.lock(published.first, folder="src"), environment)

    def test_the_top_of_a_repository_can_be_the_path(self, published: Published, environment: Path) -> None:
        """Without a folder the checkout itself is on the path."""
        fetch_repositories(published.lock(published.first, folder="."), environment)
        (path,) = environment.rglob("*.pth")
        assert (Path(path.read_text().strip()) / "source" / "halver").is_dir()

    def test_hooks_and_submodules_do_not_run(self, published: Published, environment: Path, tmp_path: Path) -> None:
        """Nothing of the user's templates runs, and no further repository is fetched."""
        hook = tmp_path / "templates" / "hooks" / "post-checkout"
        hook.parent.mkdir(parents=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
        other = Published(tmp_path / "forge" / "other")
        published.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.url, "more")
        commit = published.commit(3)
        Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text(
            f"[init]\n\ttemplateDir = {hook.parents[1]}\n[core]\n\thooksPath = {hook.parent}\n"
            '[submodule]\n\trecurse = true\n[protocol "file"]\n\tallow = always\n'
        )  # fmt: skip
        fetch_repositories(published.lock(commit), environment)
        assert version_in(environment) == "3"
        assert not list((environment / "repositories" / "halver" / "more").iterdir())
        assert not (tmp_path / "ran").exists()


class TestEnvironments:
    """What is built with it."""

    @pytest.mark.sample(1, among="private environments built")
    def test_an_interrupted_fetch_is_built_anew(
        self, published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed while git works, nothing counts as built, and the next call builds all of it."""
        lock = published.lock(published.first)
        slow = tmp_path / "bin" / "git"
        slow.parent.mkdir()
        slow.write_text('#!/bin/sh\nmkdir -p "$2"\ntouch "$2/half"\necho started > "$STARTED"\nexec sleep 60\n')
        slow.chmod(0o755)
        os.mkfifo(tmp_path / "started")
        code = textwrap.dedent("""
            import sys
            from codec_superb.base_codec.isolation import environment, lock
            environment.ensure_built(lock.open_lock(sys.argv[1]))
        """)
        variables = {
            **os.environ, "STARTED": str(tmp_path / "started"), "PATH": f"{slow.parent}:{os.environ['PATH']}",
        }  # fmt: skip
        process = subprocess.Popen([sys.executable, "-c", code, str(lock.path)], env=variables, start_new_session=True)
        assert (tmp_path / "started").read_text() == "started\n"
        os.killpg(process.pid, 9)
        process.wait()
        assert find_environment(lock).state == "interrupted"
        assert (find_environment(lock).folder / "repositories" / "halver" / "half").exists()
        built = ensure_built(lock)
        assert built.state == "built"
        assert version_in(built.folder) == "1"
        assert not list(built.folder.rglob("half"))

    @pytest.mark.sample(1, among="private environments built")
    def test_a_worker_runs_a_package_of_a_repository(self, published: Published, tmp_path: Path) -> None:
        """A codec whose package is in no registry: built, opened and used, with the tokens of that package."""
        lock = published.lock(published.first)
        link_numpy(ensure_built(lock).folder)
        guest = tmp_path / "guest.py"
        guest.write_text(GUEST)
        codec = IsolatedCodec(tiny_card(isolation={"lock": str(lock.path), "guest": str(guest)})).load()
        clip = (0.1 * np.random.default_rng(0).standard_normal((1, 1600))).astype(np.float32)
        encoded = codec.encode(clip, 16000)
        assert np.array_equal(encoded.payload, np.rint(clip * 16383) + 32768)
        assert np.abs(codec.decode(encoded) - clip).max() < 1e-4
        codec.close()


class TestCommands:
    """How people are told."""

    def test_the_list_of_environments_marks_it(
        self, published: Published, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`codecs env list` says so, and gives address and commit as JSON."""
        locks = published.lock(published.first).path.parent
        monkeypatch.setattr("codec_superb.base_codec.isolation.lock.LOCKS", locks)
        assert [each.name for each in all_environments()] == ["small"]
        assert call(["codecs", "env", "list"]) == 0
        assert "from its repository" in capsys.readouterr().out
        assert call(["codecs", "env", "list", "--json"]) == 0
        (listed,) = json.loads(capsys.readouterr().out)
        assert listed["repositories"] == [
            {"name": "halver", "url": published.url, "commit": published.first, "folder": "source"}
        ]

    def test_the_card_names_address_and_commit(
        self, published: Published, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`codecs show` has a row for what is in no registry."""
        lock = published.lock(published.first)
        card = tiny_card(isolation={"lock": str(lock.path)})
        monkeypatch.setattr("codec_superb.base_codec.registry.card", lambda _: card)
        assert call(["codecs", "show", "tiny"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"from its repository halver: {published.url} at commit {published.first}" in shown
