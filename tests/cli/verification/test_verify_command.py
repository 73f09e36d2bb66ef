"""``codec-superb verify``: the answer, the exit code, and an attestation that checks offline."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pytest
from support.pipeline.verified import CODEC, forged, packed, raised, speech_run

from codec_superb.cli.main import call
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.verification.keys import create_key
from codec_superb.pipeline.workers.executor import Executor

CLIPS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Run three clips of synthetic speech."""
    with Executor(1) as pool:
        return speech_run(tmp_path_factory.mktemp("verified"), CLIPS, pool)


@pytest.fixture
def here(run: RunFolder) -> list[str]:
    """Say where the dataset is, and keep the runs: each clip is run again once for all tests."""
    folder = run.path.parents[2]
    return ["--dataset", str(folder / "voices"), "--runs", str(folder / "again"), "--device", "cpu", "--workers", "1"]


def verified(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> tuple[str, str]:
    """Expect an exit code; return what is printed and what is said beside it."""
    assert call(["verify", *arguments]) == code
    told = capsys.readouterr()
    return told.out, told.err


def test_an_honest_file_agrees_and_its_attestation_is_believed(
    run: RunFolder, here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 for both; another key's, another file's or a changed attestation is refused with 2, and no key at all."""
    file, key, signed = str(packed(run, tmp_path / "h.zip")), tmp_path / "key", tmp_path / "signed.json"
    public, stranger = create_key(key), create_key(tmp_path / "other")
    out, err = verified(capsys, 0, file, *here, "--key", str(key), "--out", str(signed))
    assert f"{CODEC}: agrees: run again 3 of 3 clips of voices; 3 sound the same to the last bit" in out
    assert "signed by the key " in err
    check = ["--attestation", str(signed), "--key", public]
    assert verified(capsys, 0, file, *check)[0] == out
    statement = json.loads(verified(capsys, 0, *check, "--json")[0])
    assert statement == json.loads(signed.read_bytes())["statement"]
    assert (statement["verdict"], len(statement["clips"])) == ("agrees", CLIPS)
    machine = statement["machine"]
    assert (machine["device"], machine["python"]) == ("cpu", f"CPython {platform.python_version()}")
    assert machine["packages"]["numpy"] == np.__version__
    other = forged(run, tmp_path / "f.zip", [next(row.clip for row in run.rows())], raised("mel", -0.01))
    assert "f.zip" in verified(capsys, 2, str(other), *check)[1]
    verified(capsys, 2, "--attestation", str(signed), "--key", stranger)
    verified(capsys, 2, "--attestation", str(signed))
    away = verified(capsys, 2, "--attestation", str(signed), "--server", "http://127.0.0.1:9")[1]
    assert away.endswith("refused\n")
    assert "Max retries" not in away
    missing = verified(capsys, 2, "--attestation", str(tmp_path / "missing.json"), "--key", public)[1]
    assert missing.endswith("missing.json cannot be read: No such file or directory\n")
    signed.write_text(signed.read_text().replace('"pesq"', '"stoi"', 1))
    assert "changed after" in verified(capsys, 2, *check)[1]


def test_as_many_clips_as_asked_for(
    run: RunFolder, here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which ones a nonce and the file decide, so that whoever has both draws the same; another nonce draws others."""
    file = str(packed(run, tmp_path / "h.zip"))
    drawn = []
    for nonce in ("0" * 64, "0" * 64, *(f"{number:064x}" for number in range(1, 8))):
        out = verified(capsys, 0, file, *here, "--clips", "1", "--nonce", nonce, "--json")[0]
        (entry,) = json.loads(out)["clips"]
        drawn.append(entry["clip"])
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert set(drawn) <= {row.clip for row in run.rows()}


def test_a_forged_file_differs(
    run: RunFolder, here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """3, with the clip and the metric; an attestation of it says the same with 3."""
    clip, *others = (row.clip for row in run.rows())
    file = str(forged(run, tmp_path / "forged.zip", [clip], raised("pesq", 0.5)))
    key, signed = tmp_path / "key", tmp_path / "signed.json"
    public = create_key(key)
    out, _ = verified(capsys, 3, file, *here, "--all", "--key", str(key), "--out", str(signed))
    assert f"{CODEC}: differs: run again 3 of 3" in out
    assert f"  voices, {clip}: pesq: " in out
    assert not any(other in out for other in others)
    assert verified(capsys, 3, file, "--attestation", str(signed), "--key", public)[0] == out
    statement = json.loads(verified(capsys, 3, file, *here, "--json")[0])
    assert [entry["clip"] for entry in statement["clips"] if entry["verdict"] == "differs"] == [clip]


def test_what_cannot_be_run(
    run: RunFolder, here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 and no verdict: a codec or a dataset that nobody knows here, no such file, wrong options."""
    file, own = str(packed(run, tmp_path / "a.zip")), run.info()
    copy = RunFolder(tmp_path / "copy" / "voices")
    copy.write_info(own.model_copy(update={"card": own.card.model_copy(update={"name": "nobody_knows_me"})}))
    copy.write_rows(run.rows(), list(own.metrics))
    stranger = str(packed(copy, tmp_path / "stranger.zip"))
    for arguments, told in (
        ((stranger, *here), "nobody_knows_me is no codec of the catalogue"),
        ((file, "--workers", "1"), "voices is no dataset of the benchmark"),
        ((str(tmp_path / "none.zip"), *here), "none.zip"),
        ((file, *here, "--nonce", "12"), "64 hexadecimal digits"),
        ((file, *here, "--clips", "1", "--all"), "one of --clips and --all"),
        ((file, *here, "--key", str(tmp_path / "key")), "both or none"),
        ((), "expected FILE.zip"),
    ):
        out, err = verified(capsys, 2, *arguments)
        assert out == ""
        assert told in " ".join(err.replace("│", " ").split()), err
