"""``tokens.lm`` and ``tokens.contents`` by a run's own codec: figures from kept counts, the same rows when killed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
from support.audio import speech_like
from support.codecs.frame_codecs import HERE
from support.pipeline.killing import finish, killed
from support.profile import amount

from codec_superb.applications.table import PROBES
from codec_superb.applications.token_models.scoring import LEARNT
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.aggregates.codebooks import counts_by_name
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.check_pairs import check_pairs
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.workers.executor import Executor

SLOW = f"{HERE}:SlowLevels"
BACKENDS = (f"codec-codes:{SLOW}", f"codec-contents:{SLOW}")
APPLICATIONS = ("tokens.lm", "tokens.contents")
CLIPS = 10


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Start workers once for all tests; each imports torch for seconds."""
    with Executor(amount(1, 2)) as executor:
        yield executor


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, pool: Executor) -> Path:
    """Resynthesise clips of five speakers once, one of them shorter than a frame, with texts that nobody says."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    for number in range(CLIPS):
        sound = speech_like(0.4 + number / 50, 16_000, seed=number)
        soundfile.write(folder / f"c{number}.wav", sound[:100] if number == 5 else sound, 16_000)
    texts = ("a cat", "a dog")
    rows = [f"c{number}.wav,{'abcde'[number % 5]},{texts[number // 5]},en" for number in range(CLIPS)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker,text,language", *rows]) + "\n")
    out = tmp_path_factory.mktemp("made") / "runs"
    resynthesise([SLOW], [str(folder)], out=out, executor=pool)
    return out


@pytest.fixture
def runs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the finished run; predictions and models lie in the test's own folder."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return Path(shutil.copytree(made, tmp_path / "runs"))


def _probed(runs: Path, pool: Executor) -> RunFolder:
    probe([runs], applications=APPLICATIONS, backends=BACKENDS, executor=pool)
    return RunFolder(runs / "slow_levels" / "data")


@pytest.mark.slow
def test_figures_come_from_what_is_kept_of_clips(runs: Path, pool: Executor) -> None:
    """Rows and counts pass the checks of submissions; clips of the training are left out, no speaker is in both."""
    run = _probed(runs, pool)
    rows, kept = list(run.rows()), run.pairs()
    findings = Findings()
    assert check_pairs(rows, kept, findings), findings
    left_out = {row.cluster for row in rows if row.probes["tokens_lm"].status == "left_out"}
    held_out = {row.cluster for row in rows if row.probes["tokens_lm"].status == "ok"}
    assert left_out
    assert held_out
    assert not left_out & held_out
    assert {row.probes["tokens_lm"].reason for row in rows} == {"", LEARNT}
    found = {of.figure: of.resynthesis.value for of in aggregate_applications(rows, kept)}
    assert 0 < (found["tokens_lm_bits"] or 0) < 4
    assert found["tokens_lm_perplexity"] == pytest.approx(2 ** (found["tokens_lm_bits"] or 0))
    # nobody says these texts, so that no phone is found in the sounds
    figures = {metric.key for metric in PROBES["tokens_contents"].metrics}
    assert {key for key in figures if "_phone" not in key and "_abx" not in key and "purity" not in key} <= found.keys()
    for key in ("tokens_speaker_pnmi_pct", "tokens_pitch_pnmi_pct", "tokens_voices_pct"):
        assert 0 < (found[key] or 0) < 100
    every = {of.name: of.score.value for of in counts_by_name(rows, kept)}
    assert every["mi:pitch:1"] == pytest.approx(found["tokens_pitch_pnmi_pct"])
    assert every["edit:voices"] == pytest.approx(found["tokens_voices_pct"])
    assert (every["bits:lm:2"] or 0) > 0
    settings = run.info().probes["tokens_lm"].settings
    assert (settings["model"], settings["pattern"], settings["end"]) == ("tiny", "delay", "not predicted")
    assert (settings["held_out_by"], settings["speakers_in_both"]) == ("speaker", 0)
    assert _probed(runs, pool).pairs() == kept


@pytest.mark.slow
def test_kills_at_any_moment_change_no_row(
    runs: Path, pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it predicts, trains or writes: what is through at last equals the undisturbed one."""
    whole = _probed(runs, pool)
    order = {"stage": "probe", "applications": list(APPLICATIONS), "backends": list(BACKENDS)}
    moments, kills, rounds = random.Random(3), 0, 0
    while kills < amount(2, 20):
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / f"home{rounds}"))
        out = Path(shutil.copytree(runs, tmp_path / f"round{rounds}"))
        again = RunFolder(out / "slow_levels" / "data")
        again.write_info(again.info().model_copy(update={"probes": {}}))
        while kills < amount(2, 20) and killed({**order, "out": str(out)}, moments, 0.5):
            kills += 1
        finish({**order, "out": str(out)})
        assert list(again.rows()) == list(whole.rows())
        assert again.pairs() == whole.pairs()
        rounds += 1
