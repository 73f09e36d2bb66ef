"""Private environments: built once for all processes, rebuilt when interrupted, with pip's settings and with uv's."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.codecs.isolated import LOCK, make_tiny_environment, tiny_card
from support.datasets.package_files import wheel
from support.timing import PATIENCE_S

from codec_superb.base_codec.errors import CatalogueError
from codec_superb.base_codec.isolation import installer
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.environment import (
    MARK,
    Environment,
    all_environments,
    ensure_built,
    find_environment,
    remove,
)
from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.installer import uv_options, uv_variables
from codec_superb.base_codec.isolation.lock import GitRepository, Lock, current_platform, lock_names, open_lock
from codec_superb.cli.main import call
from codec_superb.data_manifests.packages.pip_settings import PipSettings

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
EINOPS = "einops==0.8.2 --hash=sha256:54058201ac7087911181bfec4af6091bb59380360f069276601256a76af08193"
BUILD = (
    "from codec_superb.base_codec.isolation import environment, lock; import sys\n"
    "print(environment.ensure_built(lock.open_lock(sys.argv[1]), print).folder)"
)


def write_lock(folder: Path, *lines: str, python: str = VERSION) -> Path:
    """Write a lock for this machine."""
    path = folder / "small.txt"
    path.write_text("\n".join([f"# python: {python}", f"# platform: {current_platform()}", *lines]) + "\n")
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty home, and pip as the installer."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CODEC_SUPERB_INSTALLER", "pip")
    return tmp_path / "home"


class TestLocks:
    """Reading lock files."""

    def test_a_lock_says_what_it_is_for(self, tmp_path: Path) -> None:
        """Head and pins are read; the digest is that of the file."""
        commit = 40 * "a"
        repository = f"# repository: Torch_x https://example.org/t {commit} src/torch"
        path = write_lock(tmp_path, "# extra-index: https://example.org/simple", repository, EINOPS)
        lock = open_lock(str(path))
        assert (lock.name, lock.python, lock.fits_here) == ("small", VERSION, True)
        assert lock.pins == {"einops": "0.8.2", "torch-x": commit}
        assert lock.repositories == (GitRepository("Torch_x", "https://example.org/t", commit, "src/torch"),)
        assert lock.extra_index == "https://example.org/simple"
        assert lock.digest == hashlib.sha256(path.read_bytes()).hexdigest()

    def test_a_lock_without_a_head_is_refused(self, tmp_path: Path) -> None:
        """What does not say its Python is no lock."""
        path = tmp_path / "bare.txt"
        path.write_text(EINOPS)
        with pytest.raises(CatalogueError, match="expected a comment `# python: …` at its head"):
            open_lock(str(path))

    @pytest.mark.parametrize(
        "value",
        [
            "x https://example.org/x",
            f"x https://example.org/x {39 * 'a'}",
            f"x https://example.org/x {40 * 'A'}",
            "x https://example.org/x main",
            f"x git@example.org:x {40 * 'a'}",
            f"../x https://example.org/x {40 * 'a'}",
            f"x https://example.org/x {40 * 'a'} ../y",
            f"x https://example.org/x {40 * 'a'} /y",
            f"x https://example.org/x {40 * 'a'} y z",
        ],
    )
    def test_a_malformed_repository_is_refused(self, tmp_path: Path, value: str) -> None:
        """A branch, half a commit, an address that asks for a key, a way out of the folder: none is a pin."""
        with pytest.raises(CatalogueError, match=r"expected `# repository: <name> .*, got '"):
            open_lock(str(write_lock(tmp_path, f"# repository: {value}")))

    def test_a_package_named_twice_is_refused(self, tmp_path: Path) -> None:
        """The same package from a registry and from a repository would be two versions."""
        repository = f"# repository: Einops https://example.org/x {40 * 'a'}"
        with pytest.raises(CatalogueError, match=r"expected one version of einops, got 0\.8\.2 and a{40}"):
            open_lock(str(write_lock(tmp_path, repository, EINOPS)))

    @pytest.mark.parametrize("name", lock_names())
    def test_every_pin_of_this_package_has_a_hash(self, name: str) -> None:
        """A requirement without a hash would let anything in."""
        lock = open_lock(name)
        text = lock.path.read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert len(lines) == len(lock.pins) - len(lock.repositories)
        assert all("--hash=sha256:" in line for line in lines)


class TestEnsure:
    """Building, once and whole."""

    def test_what_is_built_is_not_built_again(self) -> None:
        """The tiny environment is found as it is, without a word."""
        said: list[str] = []
        assert ensure_built(open_lock(str(LOCK)), said.append).state == "built"
        assert not said

    @pytest.mark.sample(1, among="private environments built")
    def test_an_interrupted_build_is_built_anew(self, home: Path, tmp_path: Path) -> None:
        """A folder without its mark is thrown away whole."""
        lock = open_lock(str(write_lock(tmp_path)))
        rest = find_environment(lock).folder / "half"
        rest.mkdir(parents=True)
        assert find_environment(lock).state == "interrupted"
        said: list[str] = []
        built = ensure_built(lock, said.append)
        assert (built.state, built.installer, rest.exists()) == ("built", "pip", False)
        assert said == [f"building the environment of small (0 packages) in {built.folder} …"]
        assert subprocess.run([built.python, "-c", ""], check=False).returncode == 0

    @pytest.mark.sample(1, among="private environments built")
    def test_a_killed_build_leaves_no_environment_that_counts(self, home: Path, tmp_path: Path) -> None:
        """SIGKILL in the middle: the next call builds, and is not stopped by a lock that stayed."""
        path = write_lock(tmp_path)
        process = subprocess.Popen([sys.executable, "-u", "-c", BUILD, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout as out:
            out.read(8)
            process.kill()
        process.wait()
        assert find_environment(open_lock(str(path))).state in {"interrupted", "not built"}
        assert ensure_built(open_lock(str(path))).state == "built"

    @pytest.mark.sample(1, among="private environments built")
    def test_two_processes_build_once(self, home: Path, tmp_path: Path) -> None:
        """The second waits for the first and uses what it built."""
        path = str(write_lock(tmp_path))
        both = [
            subprocess.Popen([sys.executable, "-c", BUILD, path], stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        said = [process.communicate(timeout=PATIENCE_S)[0].splitlines() for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert sorted(map(len, said)) == [1, 2]
        assert said[0][-1] == said[1][-1]

    @pytest.mark.sample(1, among="private environments built")
    def test_a_failed_build_shows_the_end_of_pips_output(
        self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What pip said last and the command to call again; nothing is left that looks built."""
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        lock = open_lock(str(write_lock(tmp_path, "no-such-package==1.0 --hash=sha256:" + 64 * "0")))
        with pytest.raises(EnvironmentFailed) as caught:
            ensure_built(lock)
        assert "No matching distribution found for no-such-package==1.0" in str(caught.value)
        assert "`codec-superb codecs env build small` again" in str(caught.value)
        assert find_environment(lock).state == "not built"

    def test_a_missing_python_is_named(self, home: Path, tmp_path: Path) -> None:
        """Without uv, the Python of the lock must be there."""
        with pytest.raises(EnvironmentFailed, match=r"locked for Python 3.99, .* install python3.99, or install uv"):
            ensure_built(open_lock(str(write_lock(tmp_path, python="3.99"))))


@pytest.fixture(scope="module")
def folder_of_uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the program uv, which is fetched where it is not on the PATH."""
    if (found := shutil.which("uv")) is not None:
        return Path(found).parent
    folder = tmp_path_factory.mktemp("tools")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", str(folder), "uv"]
    subprocess.run(pip, check=True, capture_output=True)
    return folder / "bin"


@pytest.fixture
def uv(home: Path, folder_of_uv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take uv as the installer."""
    monkeypatch.setenv("CODEC_SUPERB_INSTALLER", "uv")
    monkeypatch.setenv("PATH", str(folder_of_uv), prepend=":")


@pytest.mark.network
class TestInstall:
    """Installing through the configured index."""

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("program", ["pip", "uv"])
    def test_a_pinned_package_is_installed_from_the_configured_index(
        self, home: Path, tmp_path: Path, request: pytest.FixtureRequest, program: str
    ) -> None:
        """The file with the locked hash comes through the user's own index, with either installer."""
        if program == "uv":
            request.getfixturevalue("uv")
        built = ensure_built(open_lock(str(write_lock(tmp_path, EINOPS))))
        assert built.installer == program
        code = "import importlib.metadata as m; print(m.version('einops'))"
        done = subprocess.run([built.python, "-I", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "0.8.2\n"

    @pytest.mark.sample(1, among="private environments built")
    def test_half_a_package_does_not_count_as_installed(
        self, uv: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that cannot be copied ends the build with its reason, also where another index is asked then."""
        about = {"WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "RECORD": b""}
        members = {f"large-1.0.dist-info/{name}": data for name, data in about.items()}
        content = wheel("large", "1.0", {"large/data.bin": bytes(4 << 20)} | members)
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        (wheels / "large-1.0-py3-none-any.whl").write_bytes(content)
        monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
        monkeypatch.setenv("UV_LINK_MODE", "copy")
        pin = f"large==1.0 --hash=sha256:{hashlib.sha256(content).hexdigest()}"
        lock = write_lock(tmp_path, f"# extra-index: {(tmp_path / 'none').as_uri()}", pin)
        (tmp_path / "none").mkdir()
        remove(ensure_built(open_lock(str(lock))))  # from now on it lies in uv's cache
        limited = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n{BUILD}"
        done = subprocess.run([sys.executable, "-c", limited, str(lock)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert find_environment(open_lock(str(lock))).state == "not built"
        first, _, second = done.stderr.partition("Then, with file:")
        assert "the environment of small cannot be built (uv ended with " in first
        assert "cannot be built (uv ended with " in second

    @pytest.mark.sample(1, among="private environments built")
    def test_a_file_with_another_hash_is_refused(self, home: Path, tmp_path: Path) -> None:
        """A package that was exchanged at the index does not get in."""
        lock = open_lock(str(write_lock(tmp_path, "einops==0.8.2 --hash=sha256:" + 64 * "0")))
        with pytest.raises(EnvironmentFailed, match=r"(?i)hash"):
            ensure_built(lock)


class TestUv:
    """What uv is told."""

    def test_uv_is_told_what_pip_is_configured_with(self) -> None:
        """Indexes, folders, hosts, certificates and proxy go along; without an index it is told so."""
        settings = PipSettings(
            indexes=("https://a/simple", "https://b/simple"), find_links=(Path("/w"),), trusted_hosts=("a",),
            cert="/c.pem", proxy="http://p",
        )  # fmt: skip
        options = " ".join(uv_options(settings))
        assert "--index-url https://a/simple --extra-index-url https://b/simple --find-links /w" in options
        assert options.endswith("--allow-insecure-host a")
        assert "--no-index" in uv_options(PipSettings(indexes=()))
        assert "--index-url" not in uv_options(PipSettings(indexes=(None,)))
        assert uv_variables(settings)["SSL_CERT_FILE"] == "/c.pem"
        assert uv_variables(settings)["HTTPS_PROXY"] == "http://p"

    def test_a_wish_that_cannot_be_met_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Asked for uv where there is none, or for something else, it says what to do."""
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.setenv(installer.INSTALLER_VARIABLE, "uv")
        with pytest.raises(EnvironmentFailed, match="not on the PATH: pip install uv"):
            installer._uv()
        monkeypatch.setenv(installer.INSTALLER_VARIABLE, "conda")
        with pytest.raises(EnvironmentFailed, match="expected CODEC_SUPERB_INSTALLER to be uv or pip, got 'conda'"):
            installer._uv()

    def test_without_any_installer_both_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An environment that was made without pip, on a machine without uv, is told how to get either."""
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.delenv(installer.INSTALLER_VARIABLE, raising=False)
        monkeypatch.setattr(sys, "path", [])
        with pytest.raises(EnvironmentFailed, match=r"expected pip in .*, or uv on the PATH: python -m ensurepip"):
            installer._uv()


class TestCommands:
    """`codecs env`."""

    def test_list_shows_every_lock_and_what_no_lock_asks_for(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Locks of this package are listed, built or not; the environment of another version is `outdated`."""
        folder = make_tiny_environment()
        assert call(["codecs", "env", "list", "--json"]) == 0
        listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
        assert set(listed) == {*lock_names(), "tiny"}
        assert (listed["tiny"]["state"], listed["tiny"]["folder"]) == ("outdated", str(folder))
        assert listed["tiny"]["bytes"] > 100
        assert call(["codecs", "env", "list"]) == 0
        assert "outdated" in capsys.readouterr().out

    def test_remove_deletes_and_says_so(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """By name or all; what is not there is said, an unknown name refused."""
        folder = make_tiny_environment()
        assert call(["codecs", "env", "remove", "tiny"]) == 0
        assert "tiny: removed" in capsys.readouterr().out
        assert not folder.exists()
        make_tiny_environment()
        assert call(["codecs", "env", "remove", "--all", "--json"]) == 0
        assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["tiny"]
        assert call(["codecs", "env", "remove", "--all"]) == 0
        assert "nothing to remove" in capsys.readouterr().out
        assert call(["codecs", "env", "remove", "tiny"]) == 2
        assert "no environment, family or codec is named 'tiny'" in capsys.readouterr().err
        assert call(["codecs", "env", "remove"]) == 2

    def test_build_refuses_an_unknown_name(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The names that exist are listed."""
        assert call(["codecs", "env", "build", "nothing"]) == 2
        assert (
            "no environment, family or codec is named 'nothing'; environments: academicodec" in capsys.readouterr().err
        )

    def test_a_codec_and_its_family_name_their_environment(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Who prepares a machine for work without a network knows the codec's name; locks have the package's."""
        environment = find_environment(open_lock("sq-codec"))
        for name in ("sqcodec", "sqcodec_16k_3kbps", "sq-codec"):
            _mark_as_built(environment)
            assert call(["codecs", "env", "build", name, name]) == 0
            assert capsys.readouterr().out.count("sq-codec: there already") == 1
            assert call(["codecs", "env", "remove", name]) == 0
            assert not environment.folder.exists()
            capsys.readouterr()

    def test_only_what_was_built_is_called_built(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The first call builds, the second finds it there; both say so, in text and in JSON."""

        def install(lock: Lock, folder: Path) -> str:
            python = find_environment(lock).python
            python.parent.mkdir(parents=True)
            python.touch()
            return "uv"

        monkeypatch.setattr("codec_superb.base_codec.isolation.environment.install", install)
        for as_json in ([], ["--json"]):
            for done in ("built", "there already"):
                assert call(["codecs", "env", "build", "sq-codec", *as_json]) == 0
                said = capsys.readouterr()
                assert ("building the environment of sq-codec" in said.err) == (done == "built")
                told = json.loads(said.out)[0]["done"] if as_json else said.out.removeprefix("sq-codec: ")
                assert told.startswith(done)
            assert remove(find_environment(open_lock("sq-codec")))

    def test_a_codec_of_the_main_environment_has_none(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It is said that there is nothing to build."""
        assert call(["codecs", "env", "build", "opus_12k"]) == 2
        assert "opus_12k needs no private environment" in capsys.readouterr().err


def _mark_as_built(environment: Environment) -> None:
    environment.python.parent.mkdir(parents=True)
    environment.python.touch()
    (environment.folder / MARK).write_text(json.dumps({"lock": environment.name, "installer": "uv"}))


def test_a_removed_environment_is_gone_for_its_codec(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a codec builds its environment; where that is impossible the installer's reason comes through."""
    monkeypatch.setenv("PATH", "/nowhere")
    make_tiny_environment()
    codec = IsolatedCodec(tiny_card()).load()
    codec.close()
    assert remove(find_environment(open_lock(str(LOCK))))
    assert not [each for each in all_environments() if each.name == "tiny"]
