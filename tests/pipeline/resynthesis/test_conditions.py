"""Runs under conditions: beside the clean one, which stays as it was; the same on any workers; failures are counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.audio import speech_like
from support.codecs.cards import make_card
from support.pipeline.run_codecs import HERE
from support.pipeline.runs import contents, speech_folder
from support.profile import amount

from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.noise.mixing import Inapplicable
from codec_superb.pipeline.conditions.apply import heard
from codec_superb.pipeline.conditions.babble import voices
from codec_superb.pipeline.conditions.record import Condition, parse_condition
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.info import DatasetInfo, RunInfo, spec_hash
from codec_superb.pipeline.scoring.stage import score

PLAIN = f"{HERE}:Plain"
ALL = [
    parse_condition(name)
    for name in (
        "noise:white:10", "noise:babble:10", "level:-20", "band:telephone", "reverb:0.3", "loss:20", "bits:0.1",
        "repeat:3",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of six clips of a second, of six voices."""
    return speech_folder(tmp_path_factory.mktemp("data") / "clips", 6, seconds=1.0)


def _run(clips: Path, out: Path, *conditions: Condition, codec: str = "codec2_3200", workers: int = 1) -> list[Path]:
    outcomes = resynthesise([codec], [str(clips)], out=out, conditions=conditions, workers=workers)
    return [outcome.path for outcome in outcomes]


def test_a_clean_run_is_what_it_was_before_there_were_conditions() -> None:
    """The hash of a specification is that of the version before, whatever its card conceals; run.json says nothing."""
    plain, concealing = make_card("plain"), make_card("plain", conceals_loss="it does")
    digest = "9d8dc2bfa1397ec1cdeb132ad014074b4c5bcf05ebd9e05b07da8619608a576a"
    assert spec_hash(plain, "0" * 64) == spec_hash(concealing, "0" * 64) == digest
    dataset = DatasetInfo(name="d", title="D", manifest_hash="0" * 64, clips=1, selected=1, licence="x")
    info = RunInfo(card=plain, dataset=dataset, spec_hash="1" * 64, status="scored")
    written = info.model_dump_json(indent=1)
    assert "condition" not in json.loads(written)
    assert RunInfo.model_validate_json(written) == info
    under = {spec_hash(card, "0" * 64, condition=one) for card in (plain, concealing) for one in (None, *ALL)}
    # one more: what a card says of lost packets counts where some are lost
    assert len(under) == len(ALL) + 2


@pytest.mark.sample(1, among="runs under conditions")
def test_each_condition_is_a_run_beside_the_clean_one(tmp_path: Path, clips: Path) -> None:
    """Folder, run.json and rows; the clean run is that of a call without conditions, file by file."""
    (alone,) = _run(clips, tmp_path / "alone")
    made = _run(clips, tmp_path / "runs", *ALL)
    assert [path.parent.name for path in made] == ["codec2_3200", *(f"codec2_3200{its.suffix}" for its in ALL)]
    assert contents(made[0]) == contents(alone)
    assert "condition" not in json.loads((made[0] / "run.json").read_text())
    sounds = {json.dumps(contents(path)[1]) for path in made}
    assert len(sounds) == len(made)
    for path, condition in zip(made[1:], ALL, strict=True):
        assert RunFolder(path).info().condition == condition
        rows = list(RunFolder(path).rows())
        assert {(row.status, row.samples) for row in rows} == {("ok", row.samples) for row in rows}
        # noise, rooms and losses make no payload longer
        assert [row.bits for row in rows] == [row.bits for row in RunFolder(alone).rows()]


@pytest.mark.sample(1, among="runs under conditions")
def test_neither_workers_nor_order_nor_interruption_change_a_sample(tmp_path: Path, clips: Path) -> None:
    """Two workers and conditions in another order, after a part of the clips, end with the same rows and audio."""
    asked = ALL[amount(4, 0) :]
    first = {path.parent.name: contents(path) for path in _run(clips, tmp_path / "one", *asked)}
    resynthesise(["codec2_3200"], [str(clips)], out=tmp_path / "two", conditions=ALL[5:], workers=1, limit=2)
    second = {path.parent.name: contents(path) for path in _run(clips, tmp_path / "two", *reversed(asked), workers=2)}
    assert first == second


def test_another_definition_of_a_condition_is_another_run(tmp_path: Path, clips: Path) -> None:
    """A run of a former version is set aside, as one of another card is."""
    former = ALL[0].model_copy(update={"version": "0"})
    _run(clips, tmp_path, former, codec=PLAIN)
    (_, run) = _run(clips, tmp_path, ALL[0], codec=PLAIN)
    assert RunFolder(run).info().condition == ALL[0]
    assert run.with_name(f".{run.name}.old1").is_dir()


def test_what_a_codec_is_given_can_be_made_again(tmp_path: Path, clips: Path) -> None:
    """The resynthesis of 16-bit PCM under noise is the noisy clip; a level is undone after the decoder."""
    noisy, level = parse_condition("noise:white:10"), parse_condition("level:-20")
    clean, under_noise, under_level = _run(clips, tmp_path, noisy, level, codec=PLAIN)
    dataset = open_dataset(str(clips))
    for row in RunFolder(under_noise).rows():
        clip = dataset.clip(row.clip)
        audio, rate = clip.load()
        made, _ = read_audio(RunFolder(under_noise).audio_path(row.clip), row.resynthesis_sha256 or "")
        assert np.abs(made - heard(noisy, dataset, clip, audio[0], rate).samples).max() < 1 / 32767
    steps = {}
    for path in (clean, under_level):
        row = next(RunFolder(path).rows())
        audio, _ = dataset.clip(row.clip).load()
        made, _ = read_audio(RunFolder(path).audio_path(row.clip), row.resynthesis_sha256 or "")
        steps[path] = np.abs(made - audio[0]).max() * 32767
    # half a step of 16 bits, of a clip that peaks at 0.5 and is coded at 0.1
    assert steps[clean] == pytest.approx(0.5, abs=0.02)
    assert steps[under_level] == pytest.approx(0.5 * 0.5 / 0.1, abs=0.1)


def test_the_reference_is_the_original_or_the_input(tmp_path: Path, clips: Path) -> None:
    """SI-SDR of PCM under 10 dB of noise is 10 dB against the original, and that of PCM against what it was given."""
    runs = _run(clips, tmp_path, *(parse_condition("noise:white:10", of) for of in ("clean", "input")), codec=PLAIN)
    assert [run.parent.name for run in runs] == ["plain", "plain@noise_white_10", "plain@noise_white_10@input"]
    score(runs, metrics=["si_sdr"], workers=1)
    clean, original, given = ([row.metrics["si_sdr"].value or 0 for row in RunFolder(run).rows()] for run in runs)
    assert original == pytest.approx([10.0] * len(original), abs=0.15)
    assert min(given) > 60
    assert min(clean) > 60
    assert RunFolder(runs[2]).info().condition == Condition(name="noise:white:10", reference="input", version="1")


def test_a_decoder_that_refuses_damage_costs_the_clip(tmp_path: Path, clips: Path) -> None:
    """Most clips of AAC with inverted bits fail; they are counted with their reason and have no scores."""
    outcomes = resynthesise(["aac_64k"], [str(clips)], out=tmp_path, conditions=[parse_condition("bits:5")], workers=1)
    assert outcomes[0].complete
    assert outcomes[1].failed
    assert {failure.stage for failure in outcomes[1].failed} == {"decode"}
    score([outcomes[1].path], metrics=["stft"], workers=1)
    rows = [row for row in RunFolder(outcomes[1].path).rows() if row.status == "failed"]
    assert len(rows) == len(outcomes[1].failed)
    assert all(row.metrics["stft"].value is None and row.error for row in rows)


def test_a_codec_that_refuses_a_tone_is_asked_by_its_clips(tmp_path: Path, clips: Path) -> None:
    """Whether there are packets to lose is tried before any run; what fails then fails clip by clip, and is counted."""
    (clean, under_loss) = resynthesise(
        [f"{HERE}:Refusing"], [str(clips)], out=tmp_path, conditions=[parse_condition("loss:20")], workers=1
    )
    assert {failure.stage for failure in (*clean.failed, *under_loss.failed)} == {"encode"}


def test_a_codec_without_packets_is_refused(tmp_path: Path, clips: Path) -> None:
    """In one sentence, which says what to do; bit errors it takes."""
    with pytest.raises(PipelineError, match=r"without packets to lose; run it without the condition loss:20"):
        _run(clips, tmp_path, parse_condition("loss:20"), codec=PLAIN)
    assert not list(tmp_path.glob("*@loss*"))
    (_, run) = _run(clips, tmp_path, parse_condition("bits:0.1"), codec=PLAIN)
    assert {row.status for row in RunFolder(run).rows()} == {"ok"}


def test_clips_that_a_condition_does_not_fit_fail(tmp_path: Path) -> None:
    """Digital silence has no signal-to-noise ratio; the others are run, also in a folder with too few voices."""
    folder = speech_folder(tmp_path / "clips", 2, seconds=1.0)
    soundfile.write(folder / "silence.wav", np.zeros(16000), 16000)
    outcomes = resynthesise([PLAIN], [str(folder)], out=tmp_path / "runs", conditions=ALL[:2], workers=1)
    assert [[failure.clip for failure in of.failed] for of in outcomes[1:]] == [
        ["silence.wav"], ["clip00.wav", "clip01.wav", "silence.wav"],
    ]  # fmt: skip
    assert "not silent" in outcomes[1].failed[0].reason
    assert "at least 4 clips of speech by other speakers" in outcomes[2].failed[0].reason


def test_babble_has_no_voice_of_the_clips_own_speaker(tmp_path: Path) -> None:
    """Eight voices of other clusters, the same whatever is run; a dataset of one speaker has none."""
    folder = tmp_path / "voices"
    for speaker in range(5):
        (folder / f"s{speaker}").mkdir(parents=True)
        for number in range(3):
            sound = speech_like(0.3 + 0.1 * number, 16000, seed=10 * speaker + number)
            soundfile.write(folder / f"s{speaker}" / f"{number}.wav", sound, 16000)
    lines = [f"s{speaker}/{number}.wav,s{speaker}" for speaker in range(5) for number in range(3)]
    (folder / "labels.csv").write_text("\n".join(["path,speaker", *lines]))
    dataset = open_dataset(str(folder), category="speech")
    for name in dataset.clip_ids():
        clip = dataset.clip(name)
        chosen = voices(dataset, clip)
        assert len(chosen) == len(set(chosen)) == 8
        assert not [other for other in chosen if dataset.clip(other).cluster == clip.cluster]
    assert len({tuple(voices(dataset, dataset.clip(name))) for name in dataset.clip_ids()}) > 10
    (tmp_path / "lone").mkdir()
    (folder / "s0").rename(tmp_path / "lone" / "s0")
    (tmp_path / "lone" / "labels.csv").write_text("\n".join(["path,speaker", *lines[:3]]))
    lone = open_dataset(str(tmp_path / "lone"), category="speech")
    with pytest.raises(Inapplicable, match="use noise:white"):
        voices(lone, lone.clip("s0/0.wav"))
