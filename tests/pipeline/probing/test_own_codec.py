"""Probes that a run's own codec answers: opened again, unavailable where it cannot, the same rows when killed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
from support.audio import speech_like
from support.codecs.checkpoints import checkpoint
from support.codecs.frame_codecs import COARSE, FINE, HERE
from support.pipeline.killing import finish, killed
from support.pipeline.runs import contents
from support.profile import amount

from codec_superb.applications.catalogue import choose
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.probe import SIDES
from codec_superb.base_codec.options import CodecOptions
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.aggregates.codebooks import counts_by_name
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.probing.choice import check_probes_possible
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.check_pairs import check_pairs
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.workers.executor import Executor

SLOW = f"{HERE}:SlowLevels"
BACKENDS = (f"codec-disturbed:{SLOW}", f"codec-codes:{SLOW}")
CLIPS = 8


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Start workers once for all tests."""
    with Executor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give clips of four speakers, one of them shorter than a frame."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    for number in range(CLIPS):
        sound = speech_like(0.3 + number / 100, 16_000, seed=number)
        soundfile.write(folder / f"c{number}.wav", sound[:100] if number == 5 else sound, 16_000)
    rows = [f"c{number}.wav,{'abcd'[number % 4]}" for number in range(CLIPS)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker", *rows]) + "\n")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path, pool: Executor) -> Path:
    """Resynthesise once."""
    out = tmp_path_factory.mktemp("made") / "runs"
    resynthesise([SLOW], [str(data)], out=out, executor=pool)
    return out


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep predictions in the test's own folder."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def runs(made: Path, tmp_path: Path, home: Path) -> Path:
    """Give a copy of the finished run."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def tokens(runs: Path, pool: Executor) -> RunFolder:
    """Run both probes."""
    probe([runs], applications=["tokens"], backends=BACKENDS, executor=pool)
    return RunFolder(runs / "slow_levels" / "data")


@pytest.mark.sample(2, among="models at a run")
def test_figures_come_from_what_is_kept_of_clips(runs: Path, pool: Executor) -> None:
    """Rows and counts pass the checks of submissions, and give every figure with what is known of the codec.

    A second call asks nothing: what is known of references is kept for all runs of the codec.
    """
    run = tokens(runs, pool)
    rows, kept = list(run.rows()), run.pairs()
    findings = Findings()
    assert check_pairs(rows, kept, findings), findings
    found = {of.figure: of for of in aggregate_applications(rows, kept)}
    for figure in ("tokens_recode_pct", "tokens_recode_5_pct", "tokens_shift_frame_pct"):
        assert (found[figure].reference.value, found[figure].resynthesis.value) == (100, 100)
        assert found[figure].n == CLIPS
    assert found["tokens_edits_pct"].resynthesis.value == 0
    noisy, chance = (found[f"tokens_{name}_pct"].resynthesis for name in ("noise_20", "chance"))
    assert (noisy.low or 100) < (noisy.value or 0) < (noisy.high or 0) < 100
    assert (chance.value or 0) > 100 * (1 / COARSE + 1 / FINE) / 2
    coded = found["tokens_entropy_kbps"]
    assert 0 < (coded.resynthesis.value or 0) < (coded.reference.value or 0)
    every = {of.name: of.score for of in counts_by_name(rows, kept)}
    assert every["match:noise_20:all"] == noisy
    sums = [
        sum(getattr(of, side) for row in kept for of in row.pairs() if of.right == "match:noise_30:2")
        for side in SIDES[::-1]
    ]
    assert every["match:noise_30:2"].value == pytest.approx(100 * sums[0] / sums[1])
    names = {of.backend for of in run.info().probes.values()}
    assert names == {"codec-disturbed", "codec-codes"}
    before = contents(run.path)
    (outcome,) = probe([runs], applications=["tokens"], backends=BACKENDS, executor=pool)
    assert (outcome.done, outcome.reused) == (0, CLIPS)
    assert contents(run.path) == before


@pytest.mark.sample(2, among="what is killed or has no room")
def test_kills_at_any_moment_change_no_row(
    runs: Path, pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disturbed probing that is through equals the undisturbed one."""
    whole = tokens(runs, pool)
    order = {"stage": "probe", "applications": ["tokens"], "backends": list(BACKENDS)}
    moments, kills, rounds = random.Random(7), 0, 0
    while kills < amount(2, 20):
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / f"home{rounds}"))
        out = Path(shutil.copytree(runs, tmp_path / f"round{rounds}"))
        again = RunFolder(out / "slow_levels" / "data")
        resynthesised = again.info().model_copy(update={"probes": {}})
        again.write_info(resynthesised)
        while kills < amount(2, 20) and killed({**order, "out": str(out)}, moments, 0.5):
            kills += 1
        finish({**order, "out": str(out)})
        assert list(again.rows()) == list(whole.rows())
        assert again.pairs() == whole.pairs()
        rounds += 1


def test_a_codec_that_is_not_here_is_unavailable(runs: Path, pool: Executor) -> None:
    """The reason is said with what to do, whether its file was not named or another codec was."""
    with pytest.raises(ApplicationError, match=r"unavailable: slow_levels is no codec of the catalogue here: name its"):
        probe([runs], applications=["tokens.rate"], executor=pool)
    with pytest.raises(ApplicationError, match=r"unavailable: the run is of slow_levels, not of levels"):
        probe([runs], applications=["tokens.rate"], backends=[f"codec-codes:{HERE}:Levels"], executor=pool)
    with pytest.raises(ApplicationError, match=r"unavailable: the run is of slow_levels, not of opus_12k"):
        probe([runs], applications=["tokens.rate"], backends=["codec-codes:opus_12k"], executor=pool)


@pytest.mark.usefixtures("home")
def test_a_codec_of_a_file_is_found_as_the_runs_named_it(runs: Path, pool: Executor) -> None:
    """The stage that made the runs says its file; without one the reason names every backend that wants it."""
    (outcome,) = probe([runs], applications=["tokens.rate"], codecs=["opus_12k", SLOW], executor=pool)
    assert outcome.probes["tokens_rate"].ok == CLIPS
    both = "--backend codec-disturbed:path/to/file.py:NAME --backend codec-codes:path/to/file.py:NAME"
    with pytest.raises(ApplicationError, match=both):
        probe([runs], applications=["tokens"], executor=pool)


@pytest.mark.usefixtures("home")
@pytest.mark.sample(1, among="neural codecs by commands")
def test_random_weights_are_marked_and_never_packed(tmp_path: Path, data: Path, pool: Executor) -> None:
    """A codec of the catalogue is found by the run's name, its weights by their hash; other weights are refused."""
    folder, out = checkpoint("mimi"), tmp_path / "runs"
    options = CodecOptions(weights=str(folder))
    resynthesise(["mimi_8cb", "opus_12k"], [str(data)], out=out, options=options, limit=2, executor=pool)
    outcomes = probe([out], applications=["tokens"], weights=folder, executor=pool)
    assert {of.codec: of.probes["tokens_rate"].ok for of in outcomes} == {"mimi_8cb": 2, "opus_12k": 0}
    (again,) = probe([out / "mimi_8cb"], applications=["tokens.rate"], codec_weights=str(folder), overwrite=True,
                     executor=pool)  # fmt: skip
    assert again.probes["tokens_rate"].ok == 2  # as bench names them, and no folder of other models is
    info = RunFolder(out / "mimi_8cb" / "data").info()
    assert [of.random for of in info.probes.values()] == [True, True]
    score([out / "mimi_8cb"], metrics=["stft"], executor=pool)
    with pytest.raises(SubmissionError, match="random weights"):
        pack([RunFolder(out / "mimi_8cb" / "data")], tmp_path / "mimi.zip")


def test_bench_asks_for_no_codec_by_name_before_it_runs(data: Path) -> None:
    """Which codec answers is known with the run: a plan of tokens needs no model."""
    check_probes_possible([str(data)], choose(["tokens"]))
