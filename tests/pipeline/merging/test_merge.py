"""Merging shards: the run of one machine, bit for bit; what is no whole run is refused with what to do."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import soundfile
from support.audio import speech_like
from support.codecs import frame_codecs
from support.codecs.checkpoints import checkpoint
from support.pipeline.killing import finish, killed
from support.pipeline.probe import ENTRIES
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import speech_folder
from support.profile import amount

from codec_superb.applications import catalogue
from codec_superb.base_codec.options import CodecOptions
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.errors import InUse, PipelineError, RunFolderError
from codec_superb.pipeline.merging import joining
from codec_superb.pipeline.merging.sets import find_sets, states
from codec_superb.pipeline.merging.stage import merge
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.shard import Shard
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.workers.executor import Executor

PLAIN, SLOW, LEVELS = f"{HERE}:Plain", f"{HERE}:Slow", f"{frame_codecs.HERE}:Levels"
CLIPS, COUNT = 7, 3
TIMES = ("encode_s", "decode_s")
APART = {"command", "started"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Start a worker once for all tests; it imports torch."""
    with Executor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give clips of different lengths and two speakers, one of which cannot be read."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    folder.mkdir()
    for number in range(CLIPS):
        soundfile.write(folder / f"c{number}.wav", speech_like(0.3 + number / 20, 16_000, seed=number), 16_000)
    (folder / "c3.wav").write_bytes(b"RIFF, but no sound")
    rows = [f"c{number}.wav,{'ab'[number % 2]}" for number in range(CLIPS)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker", *rows]) + "\n")
    return folder


@pytest.fixture
def _backends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put the test's backends into the catalogue, and begin without predictions."""
    for name, entry in ENTRIES.items():
        monkeypatch.setitem(catalogue.BACKENDS, name, entry)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))


def shards(count: int = COUNT) -> Iterator[Shard]:
    """Give all shards, the last one first: their order does not matter."""
    return (Shard(index=index, count=count) for index in range(count, 0, -1))


def files(run: Path) -> dict[str, str]:
    """Give the SHA-256 of the sound, tokens and pairs of a run."""
    kept = [path for name in ("audio", "tokens") for path in (run / name).rglob("*") if path.is_file()]
    kept += [path for name in ("pairs.parquet", "vectors.parquet") if (path := run / name).is_file()]
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def table(run: Path) -> Any:
    """Give the table of a run, with its layout, without the times of computing."""
    return pq.read_table(run / "clips.parquet").drop_columns(list(TIMES))


def info(run: Path) -> dict[str, Any]:
    """Give what run.json says, without when and by which command each stage was run."""
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    found["provenance"] = [{k: v for k, v in stamp.items() if k not in APART} for stamp in found["provenance"]]
    return found


def assert_same_runs(one: Path, other: Path) -> None:
    """Compare everything that two runs of one machine have in common."""
    assert files(one) == files(other)
    assert table(one).equals(table(other), check_metadata=True)
    assert info(one) == info(other)


def packed(codec: Path, file: Path) -> Any:
    """Give what a submission says, without times of computing, and what says when and by which command."""
    with zipfile.ZipFile(pack([codec / "data"], file)) as opened:
        found = json.loads(opened.read("submission.json"))
    (dataset,), (figures,) = found["datasets"], found["aggregates"]["datasets"]
    stamps = [{k: v for k, v in stamp.items() if k not in APART} for stamp in dataset.pop("provenance")]
    for of in ("encode_rtf", "decode_rtf"):
        figures.pop(of)
    for of in ("created", "clips_sha256", "content_sha256"):
        found.pop(of)
    return found, stamps


@pytest.mark.usefixtures("_backends")
def test_a_merged_run_is_that_of_one_machine_bit_for_bit(
    tmp_path: Path, data: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transform codec and a neural one with tokens, clean and in noise, scored, and probed across clips."""
    order = {"options": CodecOptions(weights=str(checkpoint("mimi"))), "tokens": True, "executor": pool}
    noisy = [parse_condition("noise:white:10")]
    asked: list[dict[str, Any]] = [
        {"applications": ["asv", "quality"], "backends": ["voices", "levels"]},
        {"applications": ["tokens.rate"], "backends": [f"codec-codes:{LEVELS}"]},
    ]
    one, runs = tmp_path / "one", tmp_path / "shards"
    for out, part in [(one, None), *((runs, shard) for shard in shards(2))]:
        # what models said about references is no help to the shards
        monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / f"home {out.name}"))
        resynthesise(["mimi_8cb"], [str(data)], out=out, shard=part, **order)
        resynthesise(["opus_12k"], [str(data)], out=out, shard=part, executor=pool, conditions=noisy)
        resynthesise([LEVELS], [str(data)], out=out, shard=part, executor=pool)
        score([out], metrics=["si_sdr", "sdr"], shard=part, executor=pool)
        for codecs, question in zip([out, out / "levels"], asked, strict=True):
            probe([codecs], shard=part, executor=pool, **question)
    with monkeypatch.context() as patched:
        patched.setattr(joining, "IN_WORKERS", 0)
        outcomes = merge([runs], executor=pool)
    assert [(of.asked, of.done, len(of.failed)) for of in outcomes] == [(CLIPS, CLIPS, 1)] * 4
    for codec in ("levels", "mimi_8cb", "opus_12k", "opus_12k@noise_white_10"):
        assert_same_runs(one / codec / "data", runs / codec / "data")
    probes = RunFolder(runs / "levels" / "data").info().probes
    assert {"asv", "sim", "dnsmos", "tokens_rate"} <= probes.keys()
    assert len(list((runs / "mimi_8cb" / "data" / "tokens").iterdir())) == CLIPS - 1
    again = merge([runs], executor=pool)
    assert [(of.done, of.reused) for of in again] == [(0, CLIPS)] * 4
    assert_same_runs(one / "mimi_8cb" / "data", runs / "mimi_8cb" / "data")
    assert packed(one / "opus_12k", tmp_path / "one.zip") == packed(runs / "opus_12k", tmp_path / "merged.zip")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path, pool: Executor) -> Path:
    """Make three shards of a run, scored."""
    out = tmp_path_factory.mktemp("made") / "runs"
    for shard in shards():
        resynthesise([PLAIN], [str(data)], out=out, shard=shard, executor=pool)
        score([out], metrics=["si_sdr"], shard=shard, executor=pool)
    return out


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """Give a copy of the shards."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def change(run: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit what a shard says of itself."""
    content = json.loads((run / "run.json").read_text())
    edit(content)
    (run / "run.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda of: of["card"].update(version="2.0"),
            r"the codec's version: expected .*, got 2\.0: codec-superb resynth",
        ),
        (lambda of: of["dataset"].update(manifest_hash="0" * 64), "the dataset's manifest: expected .*, got 0000"),
        (lambda of: of["dataset"].update(selected=5), r"the clips that are asked for: expected 7 .*, got 5 "),
        (lambda of: of.update(spec_hash="0" * 64), "the codec's file or its settings: expected"),
        (lambda of: of["provenance"][0].update(device="cuda"), "the device: expected cpu, got cuda: .* --overwrite"),
        (lambda of: of["provenance"][0].update(batch_seconds=60), "the batch size in seconds: expected 0, got 60"),
        (
            lambda of: of["provenance"][0]["packages"].update(numpy="1.0"),
            r"the version of numpy: expected .*, got 1\.0",
        ),
        (lambda of: of["provenance"][1]["packages"].pop("soxr"), "the version of soxr: expected .*, got none"),
        (lambda of: of["metrics"].update(si_sdr="0"), "the version of si_sdr: expected .*, got 0: .* score"),
        (
            lambda of: of["provenance"][1].update(tool_version="0.0.1"),
            r"the version of this program: expected .*0\.0\.1",
        ),
    ],
)
def test_shards_that_differ_are_refused(runs: Path, edit: Callable[[dict[str, Any]], object], said: str) -> None:
    """Another codec, dataset, version, setting or machine type is named with what is expected and what to do."""
    change(runs / "plain" / "data.shard-2-of-3", edit)
    with pytest.raises(RunFolderError, match=f"shard 2/3 differs from shard 1/3 in .*{said}"):
        merge([runs])
    assert not (runs / "plain" / "data").exists()


def test_a_missing_shard_is_named_with_its_command(runs: Path, data: Path, pool: Executor) -> None:
    """The command that is named makes the shard, and the next one its scores; the list shows how far all are."""
    shutil.rmtree(runs / "plain" / "data.shard-2-of-3")
    with pytest.raises(RunFolderError, match=r"data: shard 2/3 is missing: codec-superb resynth .* --shard 2/3$"):
        merge([runs])
    (shards_of,) = find_sets([runs], None)
    assert [(of.stages, bool(of.todo)) for of in states(shards_of)] == [
        (("resynth", "score"), False), ((), True), (("resynth", "score"), False)
    ]  # fmt: skip
    resynthesise([PLAIN], [str(data)], out=runs, shard=Shard.parse("2/3"), executor=pool)
    with pytest.raises(RunFolderError, match=r"shard 2/3 has no complete score: codec-superb score .* --shard 2/3$"):
        merge([runs])
    score([runs], metrics=["sdr"], shard=Shard.parse("2/3"), executor=pool)
    with pytest.raises(RunFolderError, match=r"expected sdr on .* shard 1/3 lacks: codec-superb score .* --metric sdr"):
        merge([runs])


def test_shards_that_overlap_are_refused(runs: Path, tmp_path: Path, data: Path, pool: Executor) -> None:
    """One shard in two places, two divisions of one run, and a clip in two shards."""
    plain = runs / "plain"
    other = tmp_path / "other" / "plain" / "data.shard-1-of-3"
    shutil.copytree(plain / "data.shard-1-of-3", other)
    with pytest.raises(RunFolderError, match=r"expected each shard once, got shard 1/3 twice, .* and .*: name one"):
        merge([runs, tmp_path / "other"])
    shutil.rmtree(plain / "data.shard-1-of-3")
    with pytest.raises(RunFolderError, match="its shards lie in 2 folders: say with --out where the run shall be"):
        merge([runs, tmp_path / "other"])
    assert merge([runs, tmp_path / "other"], out=tmp_path / "all", executor=pool)[0].done == CLIPS
    resynthesise([PLAIN], [str(data)], out=runs, shard=Shard.parse("1/2"), executor=pool)
    with pytest.raises(
        RunFolderError, match=r"expected shards of one division, got shards of 2 .* and 3 .*, which overl"
    ):
        merge([runs])


def test_a_clip_in_two_shards_or_in_none_is_refused(runs: Path) -> None:
    """The tables of the shards decide, whatever the division says; so does a name that is not the shard's."""
    second, third = (runs / "plain" / f"data.shard-{index}-of-3" for index in (2, 3))
    shutil.copy(second / "clips.parquet", third / "clips.parquet")
    with pytest.raises(
        RunFolderError, match=r"expected each clip in one shard, got 'c.*' in shards 2/3 and 3/3: codec-"
    ):
        merge([runs])
    pq.write_table(pq.read_table(third / "clips.parquet").slice(0, 0), third / "clips.parquet")
    with pytest.raises(
        RunFolderError, match=r"expected the 7 clips that were asked for, got \d: 'c.*', no shard has it"
    ):
        merge([runs])
    third.rename(second.with_name("data.shard-4-of-4"))
    with pytest.raises(RunFolderError, match=r"expected the shard that its name says, got 3/3 in run.json"):
        merge([runs / "plain" / "data.shard-4-of-4"])


def test_what_is_there_already_is_not_overwritten(runs: Path, data: Path, pool: Executor) -> None:
    """The run of another specification or with other sound stays, unless it is given up."""
    merge([runs], executor=pool)
    run = runs / "plain" / "data"
    content = (run / "run.json").read_bytes()
    change(run, lambda of: of.update(spec_hash="0" * 64))
    with pytest.raises(RunFolderError, match=r"expected the run of these shards, got one of plain with other settings"):
        merge([runs], executor=pool)
    (run / "run.json").write_bytes(content)
    of_shards = sorted((runs / "plain").glob("data.shard-*"))
    for shard in of_shards:
        journal = shard / "journal" / "resynth.jsonl"
        journal.write_text(journal.read_text().replace('"resynthesis_sha256": "', '"resynthesis_sha256": "0'))
    with pytest.raises(RunFolderError, match=r"one resynthesis of 'c.*', got another one in its table than"):
        merge([runs], out=runs.with_name("another"), executor=pool)
    for shard in of_shards:
        rows = pq.read_table(shard / "clips.parquet").to_pandas()
        rows["resynthesis_sha256"] = "0" + rows["resynthesis_sha256"]
        rows.to_parquet(shard / "clips.parquet")
    with pytest.raises(RunFolderError, match=r"got other sound of 'c.*': merge into another --out, or replace it with"):
        merge([runs], executor=pool)
    assert (run / "run.json").read_bytes() == content
    with (
        RunFolder(runs / "plain" / "data.shard-1-of-3").lock(),
        pytest.raises(InUse, match="another process is working"),
    ):
        merge([runs], overwrite=True, executor=pool)
    assert (run / "run.json").read_bytes() == content


def test_more_shards_than_clips_are_a_run_too(tmp_path: Path, data: Path, pool: Executor) -> None:
    """Shards without a clip are complete at once and change nothing; --limit holds for all shards together."""
    for shard in shards(5):
        resynthesise([PLAIN], [str(data)], out=tmp_path / "runs", limit=3, shard=shard, executor=pool)
        score([tmp_path / "runs"], metrics=["si_sdr"], shard=shard, executor=pool)
    merge([tmp_path / "runs"], executor=pool)
    resynthesise([PLAIN], [str(data)], out=tmp_path / "one", limit=3, executor=pool)
    score([tmp_path / "one"], metrics=["si_sdr"], executor=pool)
    assert_same_runs(tmp_path / "one" / "plain" / "data", tmp_path / "runs" / "plain" / "data")


@pytest.mark.usefixtures("_backends")
def test_a_model_that_is_trained_on_all_references_is_not_trained_in_a_shard(runs: Path, pool: Executor) -> None:
    """The sentence says what to do instead."""
    with pytest.raises(
        PipelineError, match="is trained once, not in each shard: merge the shards of one codec and probe"
    ):
        probe([runs], applications=["dnsmos"], backends=["trained"], shard=Shard.parse("1/3"), executor=pool)


@pytest.mark.usefixtures("_backends")
def test_answers_that_the_merging_machine_does_not_have_are_asked_for(
    runs: Path, tmp_path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another home has no answers on references; with that of the tasks the merge goes on where it was."""
    for shard in shards():
        probe([runs], applications=["dnsmos"], backends=["levels"], shard=shard, executor=pool)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(
        PipelineError, match="levels: expected its answers on references for all clips, found none for 6"
    ):
        merge([runs], executor=pool)
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    merge([runs], executor=pool)
    assert RunFolder(runs / "plain" / "data").info().probes["dnsmos"].backend == "levels"


@pytest.mark.sample(2, among="what is killed or has no room")
def test_shards_and_their_merge_may_be_killed_at_any_moment(tmp_path: Path, pool: Executor) -> None:
    """A task that is killed and started again, and a merge that is, end with the run of one machine."""
    data = speech_folder(tmp_path / "data", 12)
    moments, kills = random.Random(11), 0
    order = {"codecs": [SLOW], "datasets": [str(data)], "out": str(tmp_path / "runs")}
    while kills < amount(2, 20):
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        for shard in shards(2):
            step = {"stage": "resynth", **order, "shard": str(shard)}
            kills += killed(step, moments, 0.3)
            finish(step)
        step = {"stage": "merge", "out": str(tmp_path / "runs"), "in_workers": 0 if kills % 2 else 20_000}
        kills += killed(step, moments, 0.02)
        finish(step)
    resynthesise([SLOW], [str(data)], out=tmp_path / "one", executor=pool)
    assert_same_runs(tmp_path / "one" / "slow" / "data", tmp_path / "runs" / "slow" / "data")
