"""What codecs lack is said before anything begins: packages, then weights, all of them, in a sentence each."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.codecs.loopback_hub import hub, variables
from support.datasets.package_files import closed_port
from support.pipeline.runs import speech_folder

import codec_superb
from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.isolation import wanted
from codec_superb.base_codec.readiness import check_ready

PROGRAM = "from codec_superb.cli.main import run; run()"
BUSY = 4
ABSENT = ("torch", "transformers", "huggingface_hub", "safetensors")


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with one clip."""
    return speech_folder(tmp_path / "clips", 1)


def resynth(
    environment: dict[str, str], clips: Path, *codecs: str, python: Sequence[str] = (sys.executable,)
) -> tuple[int, list[str]]:
    """Run the program in a process of its own; return its exit code and the lines of its standard error."""
    arguments = ["resynth", "--codec", *codecs, "--dataset", str(clips), "--category", "speech", "--out"]
    command = [*python, "-c", PROGRAM, *arguments, str(clips.parent / "runs")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def without_packages(folder: Path) -> str:
    """Return an import path with everything that is installed here but the packages of the extra ``neural``."""
    folder.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(ABSENT) and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return os.pathsep.join([str(folder), str(Path(codec_superb.__file__).parents[1])])


@pytest.mark.sample(1, among="what a run lacks")
@pytest.mark.sample(1, among="weights that cannot be fetched")
def test_all_that_is_missing_is_said_at_once_packages_first(tmp_path: Path, clips: Path) -> None:
    """Without internet and torch: a line for the packages, one for each repository; nothing is built or repeated."""
    address, path = f"http://127.0.0.1:{closed_port()}", without_packages(tmp_path / "site")
    environment = variables(address, tmp_path / "home", PYTHONPATH=path, HTTPS_PROXY=address)
    codecs = ("snac_24k", "opus_12k", "encodec_24k_6bps", "encodec_24k_3bps", "dac_original_44k_0.86k")
    code, lines = resynth(environment, clips, *codecs, python=[sys.executable, "-S"])
    assert code == 2, lines
    packages, snac, encodec, dac = lines
    assert packages == (
        "codec-superb: encodec_24k_6bps and encodec_24k_3bps need torch, transformers, huggingface_hub and "
        "safetensors, which are not installed: pip install 'codec-superb[neural]'"
    )
    for line, start in ((snac, "snac_24k: config.json and pytorch_model.bin of hubertsiuzdak/snac_24khz at revision"),
                        (encodec, "encodec_24k_6bps, encodec_24k_3bps: config.json and model.safetensors of facebook/"),
                        (dac, "dac_original_44k_0.86k: weights_44khz_8kbps_0.0.1.pth of https://")):  # fmt: skip
        assert line.startswith(start)
        assert "cannot be reached (Connection refused)" in line
    assert not (tmp_path / "home" / "environments").exists()
    assert not (tmp_path / "runs").exists()


def test_the_hub_that_does_not_answer_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what was tried before it: that the cache of the hub's client has no such file says nothing of the network."""
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("CODEC_SUPERB_WEIGHTS", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingWeights, match=r"cannot be reached \(Connection refused\)"):
        check_ready(["encodec_24k_6bps"])


@pytest.mark.sample(1)
@pytest.mark.parametrize(("codec", "status"), [("stable_codec_400bps", 401), ("encodec_24k_6bps", 403)])
@pytest.mark.sample(1, among="weights that cannot be fetched")
def test_a_gated_repository_says_to_accept_the_licence(tmp_path: Path, clips: Path, codec: str, status: int) -> None:
    """One line names the page where it is accepted and the command of the login; no environment is built for it."""
    with hub(lambda _: (status, "GatedRepo")) as address:
        code, lines = resynth(variables(address, tmp_path / "home"), clips, codec)
    weights = registry.card(codec).weights
    assert weights is not None
    assert code == 2
    (line,) = lines
    assert f"accepted its licence: accept it at {address}/{weights.source}, then log in with `hf auth login`" in line
    assert not (tmp_path / "home" / "environments").exists()


def test_a_guest_says_to_accept_the_licence(tmp_path: Path) -> None:
    """Inside a private environment the same is said, where the hub refuses a file of a repository that it shows."""
    code = (
        "from codec_superb.base_codec.isolation.guest_tools import weights_folder\n"
        "weights_folder({'settings': {}, 'weights': {'source': 'author/model', 'revision': None}}, ('model.bin',))"
    )
    with hub(lambda _: (401, "GatedRepo")) as address:
        environment = variables(address, tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
    assert "gives model.bin of author/model to those who accepted its licence" in done.stderr.splitlines()[-1]
    assert "`hf auth login`" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((404, "EntryNotFound"), "has no such file"),
        ((404, "RevisionNotFound"), "has no such revision"),
        ((404, "RepoNotFound"), "knows no repository facebook/encodec_24khz, or does not show it without a login"),
        ((401, ""), "knows no repository facebook/encodec_24khz, or does not show it without a login"),
        ((403, ""), "refuses it (HTTP 403)"),
    ],
)
def test_what_the_hub_answers_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str], expected: str
) -> None:
    """A file, a revision and a repository that do not exist are three sentences."""
    with hub(lambda _: answer) as address:
        for name, value in variables(address, tmp_path).items():
            monkeypatch.setenv(name, value)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(MissingWeights) as raised:
            check_ready(["encodec_24k_6bps"])
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.sample(1, among="what a run lacks")
def test_lines_of_the_hubs_client_stay_off_the_terminal(tmp_path: Path, clips: Path) -> None:
    """A hub that is busy for a moment is asked again, and of that nothing is printed."""
    asked: list[str] = []

    def busy(path: str) -> tuple[int, str]:
        if "/resolve/" in path:
            asked.append(path)
        return (503, "") if len(asked) <= BUSY else (404, "EntryNotFound")

    with hub(busy) as address:
        code, lines = resynth(variables(address, tmp_path / "home"), clips, "encodec_24k_6bps")
    assert len(asked) > BUSY  # twice by this program, and by the client, which is told to come again and does
    assert code == 2
    (line,) = lines
    assert line.startswith(
        "codec-superb: encodec_24k_6bps: config.json and model.safetensors of facebook/encodec_24khz"
    )


def test_weights_in_the_cache_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit by its first digits, a branch, files in a folder, a download of torch.hub: each is found here."""
    for name, value in variables(f"http://127.0.0.1:{closed_port()}", tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for name in ("funcodec_en_libritts_16k_nq32ds320", "sqcodec_16k_3kbps", "vocos_24k_3k"):
        card = registry.card(name)
        assert card.weights is not None
        commit = (card.weights.revision or "").ljust(40, "0")
        repository = tmp_path / "hf" / "hub" / f"models--{card.weights.source.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(commit)
        for part in wanted.wanted(card):
            files = [tmp_path / "hub" / "checkpoints" / part.name] if isinstance(part, wanted.Download) else [
                repository / "snapshots" / commit / part.subfolder / file for file in part.names
            ]  # fmt: skip
            for file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        wanted.check_weights(card)


@pytest.mark.parametrize(
    ("name", "inner"),
    [("kanade_25hz", "vocos-mel-24khz/config.yaml"), ("neucodec_distilled", "distilhubert/config.json")],
)
def test_a_folder_of_ones_own_is_looked_through_as_the_guest_does(tmp_path: Path, name: str, inner: str) -> None:
    """Files of several repositories lie in folders there; where they do, nothing is missing."""
    card = registry.card(name)
    names = [
        name
        for part in wanted.wanted(card, tmp_path)
        for name in ((part.name,) if isinstance(part, wanted.Download) else part.names)
    ]
    assert inner in names
    for file in names:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    wanted.check_weights(card, tmp_path)
    (tmp_path / inner).unlink()
    with pytest.raises(MissingWeights, match=f"got no {inner}"):
        wanted.check_weights(card, tmp_path)


def test_every_guest_says_what_it_opens() -> None:
    """The weights of each isolated codec are known before its environment is built."""
    isolated = [card for name in registry.names() if (card := registry.card(name)).isolation and card.weights]
    assert isolated
    silent = sorted({card.isolation.guest for card in isolated if card.isolation and not wanted.wanted(card)})
    assert not silent, "give these guests a function weights(card), as docs/isolated-codecs.md says"
