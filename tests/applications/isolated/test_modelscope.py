"""Models of ModelScope: found in folders, fetched by a program of the environment, or an error that says what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.isolated.modelscope import ModelScopeRepository, check_folder, find_folder, repository_of

USUAL = ModelScopeRepository("iic/listener", "v1.0")
FILES = (("config.yaml",), ("model.pt", "model.bin"))
PROGRAM = """#!{python}
import pathlib, sys
if {fails}:
    print("a banner"); print("error: no such revision", file=sys.stderr); sys.exit(1)
assert sys.argv[1:5] == ["download", "iic/listener", "--revision", "v1.0"], sys.argv
folder = pathlib.Path(sys.argv[6]); folder.mkdir(parents=True)
(folder / "config.yaml").touch()
if not {lacks}:
    (folder / "model.bin").touch()
"""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


def environment(folder: Path, *, fails: bool = False, lacks: bool = False) -> Path:
    """Make an environment whose `modelscope` writes files, or does not; return its interpreter."""
    program = folder / "bin" / "modelscope"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, fails=fails, lacks=lacks))
    program.chmod(0o755)
    return program.with_name("python")


def test_names_and_paths_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`OWNER/NAME[@REVISION]` is a repository, '' the usual one, a folder that is there a path."""
    assert repository_of("", USUAL) == USUAL
    assert repository_of("iic/other", USUAL) == ModelScopeRepository("iic/other", "master")
    assert repository_of("iic/other@v2.0.4", USUAL) == ModelScopeRepository("iic/other", "v2.0.4")
    assert ModelScopeRepository("iic/other", "v2.0.4").name == "other@v2.0.4"
    for path in ("/models/x", "./x/y", "x", "a/b/c"):
        assert repository_of(path, USUAL) is None
    (tmp_path / "iic" / "other").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert repository_of("iic/other", USUAL) is None


def test_it_is_fetched_once(tmp_path: Path) -> None:
    """The environment's program fetches the revision into this program's own folder; then nothing is asked for."""
    python = environment(tmp_path)
    folder = find_folder("listener", USUAL, FILES, python)
    assert folder == tmp_path / "home" / "models" / "modelscope" / "iic--listener" / "v1.0"
    assert sorted(path.name for path in folder.iterdir()) == ["config.yaml", "model.bin"]
    python.with_name("modelscope").unlink()
    assert find_folder("listener", USUAL, FILES, python) == folder


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"fails": True}, "error: no such revision"),
        ({"lacks": True}, "it lacks model.pt or model.bin"),
        (None, "FileNotFoundError"),
    ],
)
def test_what_cannot_be_fetched_says_what_to_do(tmp_path: Path, how: dict[str, bool] | None, reason: str) -> None:
    """The program's reason, the command for a machine with internet, and the option that names the folder."""
    python = environment(tmp_path, **how) if how else tmp_path / "bin" / "python"
    with pytest.raises(MissingModel) as caught:
        find_folder("listener", USUAL, FILES, python)
    assert f"listener: iic/listener at revision v1.0 is not on this machine and cannot be fetched ({reason}" in str(
        caught.value
    )
    assert "modelscope download iic/listener --revision v1.0 --local-dir listener" in str(caught.value)
    assert str(caught.value).endswith("then name that folder: --weights listener")


def test_offline_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the hub's own variable set, the program is not run."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingModel, match=r"cannot be fetched \(HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set\)"):
        find_folder("listener", USUAL, FILES, environment(tmp_path))
    assert not list((tmp_path / "home").rglob("config.yaml"))


def test_a_folder_must_have_every_file(tmp_path: Path) -> None:
    """A missing file is named, with what to fetch."""
    with pytest.raises(MissingModel, match=r"listener: no file config.yaml in .*\n.*iic/listener"):
        check_folder("listener", tmp_path, FILES, USUAL)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(MissingModel, match=r"no file model\.pt or model\.bin in"):
        check_folder("listener", tmp_path, FILES, USUAL)
    (tmp_path / "model.pt").touch()
    assert check_folder("listener", tmp_path, FILES, USUAL) == tmp_path.resolve()
