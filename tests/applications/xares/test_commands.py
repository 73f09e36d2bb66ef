"""``xares``: the offline track for real, and the commands on small tracks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.applications.xares import ENCODER, write_decoder, write_tones
from support.objects.fixtures import s3, s3_of_process
from support.objects.s3 import S3, Fault
from support.profile import amount
from support.server.xares import SOUND, reading
from support.shards import flac, write_shard
from typer.testing import CliRunner

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Model
from codec_superb.applications.xares.configuration import track_named
from codec_superb.applications.xares.decoder import Question
from codec_superb.applications.xares.training import load_trained
from codec_superb.cli.app import app
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.xares.parts import parts_of
from codec_superb.pipeline.xares.recording import bits_per_s, rate_of, result_of
from codec_superb.pipeline.xares.result_file import read_results
from codec_superb.pipeline.xares.run import Asked, train_all

__all__ = ["s3", "s3_of_process"]
LANGUAGE = "und_xares_language_accuracy_pct"


def _call(*arguments: str) -> tuple[int, Any]:
    found = CliRunner().invoke(app, ["xares", *arguments, "--json"], catch_exceptions=False)
    return found.exit_code, json.loads(found.stdout) if found.stdout.startswith(("{", "[")) else found.output


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a home of its own."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.network
@pytest.mark.sample(2, among="decoders are trained")
def test_shards_of_a_dataset_are_trained_on(home: Path, s3: S3) -> None:
    """``shards`` writes what ``train --data`` reads; a second call trains nothing, from a store neither."""
    write_tones(home / "tones")
    code, done = _call(
        "shards", str(home / "tones"), "--label", "events", "-o", str(home / "data"), "--per-shard", "10"
    )
    assert (code, done) == (0, {"samples": 24, "shards": 3, "written": 3, "left_out": 0})
    write_decoder(home)
    track = home / "track.yaml"
    text = {
        "track": "tones", "title": "Tones", "decoder": str(home / "decoder.yaml"),
        "tasks": {
            "xares_sound": {"weight": 1, "fields": ["label"], "shards": ["tones_{000000..000002}.tar.gz"]},
        },
    }  # fmt: skip
    track.write_text(json.dumps(text))
    call = ("train", "--encoder", ENCODER, "--track", str(track), "--data", str(home / "data"), "--seed", "1")
    code, (made,) = _call(*call)
    assert code == 0
    assert made["track"] == "tones"
    stamp = (Path(made["folder"]) / "decoder.json").stat().st_mtime_ns
    assert _call(*call)[1][0]["key"] == made["key"]
    s3.put_folder(home / "data", "data")
    s3.faults.append(Fault("503", "tones_000001", times=1))
    assert (
        _call(*(f"{s3.url}/data" if part == str(home / "data") else part for part in call))[1][0]["key"] == made["key"]
    )
    assert not list((home / "home" / "objects").glob("??/*"))  # compressed shards are read, and not kept
    assert (Path(made["folder"]) / "decoder.json").stat().st_mtime_ns == stamp
    trained = train_all(
        Asked(ENCODER, track_named(str(track)), seeds=(1,), data=home / "data"), lambda _: lambda _step, _loss: None
    )
    told = reading(SOUND, (90.0,)).model_copy(update={"by_seed": {1: 90.0}})
    record = home / "record.json"
    record.write_text(json.dumps(result_of(ENCODER, trained, [told]).model_dump(mode="json")))
    (found,) = read_results([record])
    assert found.decoders[0].key == made["key"]
    assert found.figures == (told,)
    assert found.rate.numbers_per_s == 100 * 80
    # its configuration and track are nobody else's, whatever they are called
    assert found.track_label.startswith("tones (own, ")
    assert found.decoder_label.startswith("small (own, ")


@pytest.mark.sample(2, among="decoders are trained")
def test_a_track_is_trained_on_shards_and_tried_on_its_test_shards(home: Path) -> None:
    """From a folder of shards to figures: accuracy by labels that were learnt, mAP, and what was not there is said."""
    pitches = {"rock": 400.0, "jazz": 1800.0}
    for part, at in (("train", 0), ("test", 100)):
        genres = [
            (f"{name}{number}", flac(0.4, seed=at + number, hertz=hertz * (1 + number / 100)), {"genre": name})
            for name, hertz in pitches.items()
            for number in range(10 if part == "train" else 4)
        ]
        sounds = [(key, audio, {"label": f"{said['genre']};tone"}) for key, audio, said in genres]
        write_shard(home / "data" / f"GTZAN/{part}/gtzan_fold_9_0000000.tar.gz", genres)
        for number in range(3):
            file = f"FSDKaggle2018/{part}/test_with_text_{number:06d}.tar.gz"
            write_shard(home / "data" / file, sounds[number::3])
    write_decoder(home, steps=100, new_tokens=12)
    tasks = {
        "xares_gtzan": {"weight": 1, "fields": ["genre"], "shards": ["GTZAN/train/*.tar.gz"], "classes": 2},
        "xares_fsdkaggle2018": {
            "weight": 1, "fields": ["label"], "shards": ["FSDKaggle2018/train/test_with_text_0000{00..02}.tar.gz"],
            "classes": 1,
        },
    }  # fmt: skip
    track = home / "track.yaml"
    said = {"track": "own", "title": "Own", "decoder": str(home / "decoder.yaml"), "tasks": tasks}
    track.write_text(json.dumps({**said, "also": ["xares_tacos", "xares_song_describer_minilm"]}))
    call = ("run", "--encoder", ENCODER, "--track", str(track), "--data", str(home / "data"), "--seed", "1")
    found = CliRunner().invoke(app, ["xares", *call, "--json"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    for name in ("xares_tacos", "xares_song_describer_minilm"):
        assert f"{name}: not tried: " in found.stderr
    assert "more labels than classes" in found.stderr
    figures = {(of["figure"], of["decoding"]): of for of in json.loads(found.stdout)["figures"]}
    genre = figures["und_xares_gtzan_accuracy_pct", "constrained"]
    assert (genre["dataset"], genre["n"], genre["failed"]) == ("xares_gtzan", 8, 0)
    assert genre["by_seed"]["1"] >= 90
    assert figures["und_xares_gtzan_accuracy_pct", "greedy"]["by_seed"]["1"] >= 75
    # three of the task's 41 classes are there: a perfect answer has 3/41
    assert 4 <= figures["und_xares_fsdkaggle2018_map_pct", "greedy"]["by_seed"]["1"] <= 300 / 41 + 1e-6


def test_check_names_faults_and_exits_with_3(tmp_path: Path) -> None:
    """A good one exits with 0."""
    file = tmp_path / "my_encoder.py"
    file.write_text(
        "import torch\nclass MyEncoder(torch.nn.Module):\n    output_dim = 2\n"
        "    def forward(self, audio, mask=None):\n"
        "        frames = audio[:, : audio.shape[1] // 320 * 320].reshape(len(audio), -1, 320)[..., :2]\n"
        "        return frames, None if mask is None else mask[:, ::320][:, : frames.shape[1]]\n"
    )
    assert _call("check", str(file)) == (0, {"encoder": str(file), "faults": []})
    file.write_text(file.read_text().replace("[..., :2]", "[..., :3]"))
    code, found = _call("check", str(file))
    assert code == 3
    assert "expected frames of shape (3, frames, 2), got shape (3, 156, 3)" in found["faults"][0]


def test_options_that_exclude_each_other_are_refused(home: Path) -> None:
    """Before anything is fetched or trained."""
    found = CliRunner().invoke(app, ["xares", "run", "--matched", str(home), "--shuffled"])
    assert found.exit_code == 2
    assert "got both" in found.output
    (home / "tones").mkdir()
    found = CliRunner().invoke(app, ["xares", "run", str(home / "tones")])
    assert isinstance(found.exception, RunFolderError)
    assert not (home / "home" / "xares").exists()


def test_names_and_files_are_looked_for_before_a_store(home: Path, s3: S3) -> None:
    """What is wrong on this machine costs no request."""
    data = ("xares", "train", "--data", f"{s3.url}/shards")
    for wrong in (
        ("--track", str(home / "no.yaml")),
        ("--decoder", "no.yaml"),
        ("--encoder", "nobody"),
        ("--encoder", "no_encoder.py"),
        ("--weights", "no_weights"),
        ("--seed", "-1"),
    ):
        found = CliRunner().invoke(app, [*data, *wrong])
        assert found.exit_code, wrong
        assert wrong[1] in f"{found.exception} {found.output}"
    assert s3.requests == []


def test_a_card_and_a_folder_that_are_not_there_are_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is fetched; shards that nobody named are asked for."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    found = CliRunner().invoke(app, ["xares", "run", "--device", "cuda"])
    assert "expected a graphics card that torch can use, got none" in str(found.exception)
    found = CliRunner().invoke(app, ["xares", "run", "--track", "a", "--data", str(home / "none")])
    assert found.exit_code == 2
    assert "does not exist" in found.output
    said: list[str] = []
    with pytest.raises(
        PipelineError, match="expected the test part of one task at least, found none; see the steps of"
    ):
        parts_of(track_named("a_hidden"), None, (), said.append)
    assert all(line.endswith("is in shards, and no --data DIR is named") for line in said)
    assert not (home / "home").exists()


def test_a_seed_that_no_record_carries_is_refused(home: Path) -> None:
    """Before anything is fetched or trained."""
    for seed in ("-1", str(2**53 + 1)):
        found = CliRunner().invoke(app, ["xares", "run", "--seed", "1", "--seed", seed])
        assert isinstance(found.exception, ApplicationError)
        assert f"expected a whole number from 0 to 9007199254740992, got {seed}" in str(found.exception)
    assert not (home / "home").exists()


def test_an_encoder_s_rate_is_said() -> None:
    """Frames a second by its hop; bits a second of the codebooks that are taken, none before they are quantised."""
    assert rate_of(ENCODER).model_dump() == {"frames_per_s": 100.0, "numbers_per_s": None, "bits_per_s": None}
    found = [
        bits_per_s(Model(f"{kind}:mimi_8cb", "", settings))
        for kind, settings in (
            ("codec-frames", {"latents": "quantised"}), ("codec-frames", {"latents": "continuous"}),
            ("code-embeddings", {"codebooks": 2}),
        )
    ]  # fmt: skip
    assert found == pytest.approx([1100, None, 275])  # 12.5 frames of 11 bits a codebook


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.sample(1, among="a benchmark comes to its known figures")
def test_the_offline_track_ranks_codecs() -> None:
    """Five languages: references above 85 %, Codec2 700 below them; shuffled labels and noise at chance (20 %)."""
    from codec_superb.data_manifests import prepare
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.workers.executor import Executor
    from codec_superb.pipeline.workers.progress import SilentProgress
    from codec_superb.pipeline.xares.run import try_all

    for name in ("phone_languages", "phone_prompts", "mini"):
        prepare(name)
    seeds = (42, 1, 2)[: amount(1, 3)]
    asked = Asked("faster-whisper-frames", track_named("offline"), seeds=seeds)
    trained = train_all(asked, lambda _: lambda _step, _loss: None)
    out = trained[0].folder.parent.parent / "test-runs"
    with Executor(2) as executor:
        codecs = ["codec2_3200", "codec2_700"][-amount(1, 2) :]
        made = resynthesise(codecs, ["phone_prompts"], out=out, executor=executor, progress=SilentProgress())
        readings = try_all(trained, asked, [run.path for run in made], SilentProgress(), executor)
        values = {of.codec: of for of in readings if of.figure == LANGUAGE and of.decoding == "greedy"}
        for seed in seeds:
            assert values[""].by_seed[seed] >= 85
            assert values["codec2_700"].by_seed[seed] <= values[""].by_seed[seed] - 8
        if "codec2_3200" in values:
            assert values["codec2_700"].mean < values["codec2_3200"].mean <= values[""].mean
    rng = np.random.default_rng(0)
    classes = ("English", "French", "Italian", "Russian", "Spanish")
    for training in trained:
        decoder = load_trained(training.folder)
        noise = [
            Question(rng.standard_normal((200, 384)).astype(np.float32), "Classify the language.") for _ in range(50)
        ]
        right = sum(answer == classes[at % 5] for at, answer in enumerate(decoder.answer(noise)))
        assert right <= 15 + 3
    if amount(0, 1):
        control = train_all(Asked(asked.encoder, asked.track, shuffled=True), lambda _: lambda _step, _loss: None)
        with Executor(2) as executor:
            found = try_all(control, asked, [], SilentProgress(), executor)
        assert all(value <= 35 for of in found if of.figure == LANGUAGE for value in of.by_seed.values())
