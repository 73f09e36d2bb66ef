"""``codec-superb admin listening``: from a definition and real sound to a test that people can take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from sqlalchemy import select
from sqlalchemy.orm import undefer
from support.audio import speech_like
from support.pipeline.runs import speech_folder
from support.server.compare import rows_of, store, tone

from codec_superb.cli.main import call
from codec_superb.pipeline.listening.sounds import decode
from codec_superb.server.database.listening import Stimulus
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

CODECS = ["opus_64k", "opus_12k"]
DEFINITION = """
kind: {kind}
title: Which Opus is enough?
codecs: [opus_64k, opus_12k]
any_licence: true
{more}
"""


def settings_in(folder: Path) -> Settings:
    """Give settings of a migrated database in a folder."""
    made = Settings(storage=folder / "storage", secret_key="x" * 40)
    upgrade(made.database_url)
    return made


def sounds_of(settings: Settings) -> dict[tuple[str, str], Stimulus]:
    """Read the sounds of all tests by clip and condition."""
    database = Database(settings.database_url)
    with database.transaction() as session:
        found = session.scalars(select(Stimulus).options(undefer(Stimulus.data))).all()
    database.close()
    return {(each.clip, each.condition): each for each in found}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Call a command that must work and return its JSON."""
    capsys.readouterr()
    assert call(["admin", "listening", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.sample(1, among="listening tests by commands")
def test_a_test_from_runs_is_made_opened_and_closed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The resyntheses are what the codecs left, without loss; anchors and recorded questions are with them."""
    sound, runs = speech_folder(tmp_path / "sound", 2, seconds=0.5), tmp_path / "runs"
    assert call(["resynth", "--codec", *CODECS, "--dataset", str(sound), "--out", str(runs)]) == 0
    settings = settings_in(tmp_path)
    storage = ["--storage", str(settings.storage)]
    soundfile.write(tmp_path / "say4.wav", speech_like(0.5, 16000, 9), 16000)
    file = tmp_path / "test.yaml"
    more = "anchors: true\ngold: 1\ntraps: [{file: say4.wav, answer: 4}]"
    file.write_text(DEFINITION.format(kind="acr", more=more), encoding="utf-8")
    made = said(capsys, "create", str(file), "--runs", str(runs), *storage)
    assert (made["state"], len(made["clips"])) == ("draft", 2)
    found = sounds_of(settings)
    per_clip = {"opus_64k", "opus_12k", "reference", "anchor-3.5k", "anchor-7k"}
    assert {condition for clip, condition in found if clip == made["clips"][1]} == per_clip
    assert ("trap 1", "trap") in found
    reference, rate = soundfile.read(sound / made["clips"][0], dtype="float32")
    heard, _ = decode(found[made["clips"][0], "reference"].data, "reference")
    middle = slice(0, len(heard) - 400)  # before the fade
    assert rate == 16000
    assert np.abs(heard[middle] - reference[: len(heard)][middle]).max() <= 1 / 32_768
    test = made["test"]
    assert said(capsys, "open", test, *storage) == {"test": test, "state": "open"}
    assert said(capsys, "list", *storage)[0]["state"] == "open"
    assert call(["admin", "listening", "remove", test, *storage]) != 0
    assert said(capsys, "close", test, *storage)["state"] == "closed"
    assert call(["admin", "listening", "open", test, *storage]) != 0
    assert "expected a draft to open" in capsys.readouterr().err
    assert said(capsys, "results", test, *storage)["counted"] == 0
    assert said(capsys, "remove", test, *storage) == {"removed": test}
    assert not sounds_of(settings)


@pytest.mark.sample(1, among="listening tests by commands")
def test_a_test_from_samples_has_the_clips_that_all_submissions_carry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their sounds are decoded once; listeners are told that they have passed Opus."""
    settings = settings_in(tmp_path)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        for name, hertz, clips in (("opus_64k", 500.0, 2), ("opus_12k", 700.0, 3)):
            sounds = {f"mini/clip{number:03}": tone(hertz) for number in range(clips)}
            store(session, name, rows_of(), sounds=sounds, files=settings.files)
    database.close()
    storage = ["--storage", str(settings.storage)]
    file = tmp_path / "test.yaml"
    file.write_text(DEFINITION.format(kind="mushra", more=""), encoding="utf-8")
    made = said(capsys, "create", str(file), *storage)
    assert made["clips"] == ["mini/clip000", "mini/clip001"]
    found = sounds_of(settings)
    assert found["mini/clip000", "opus_12k"].submission_id is not None
    for condition, hertz in (("reference", 200), ("opus_64k", 500), ("opus_12k", 700)):
        audio, rate = decode(found["mini/clip000", condition].data, condition)
        assert np.argmax(np.abs(np.fft.rfft(audio, rate))) == pytest.approx(hertz, abs=6)
    assert "passed Opus" in said(capsys, "results", made["test"], *storage)["source"]
    file.write_text(DEFINITION.format(kind="mushra", more="clips: [mini/clip002]"), encoding="utf-8")
    assert call(["admin", "listening", "create", str(file), *storage]) != 0
    assert "got mini/clip002" in capsys.readouterr().err


def test_clips_are_of_all_categories_by_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test of two clips is not of two of speech, which come first by name."""
    settings = settings_in(tmp_path)
    database = Database(settings.database_url)
    rows = rows_of()
    of = {name: [row.clip for row in rows if row.category == name] for name in ("speech", "music")}
    named = sorted(of["speech"][:2]) + of["music"][-1:]
    with database.transaction(write=True) as session:
        for name in CODECS:
            store(session, name, rows, sounds=dict.fromkeys(named, tone(500.0)), files=settings.files)
    database.close()
    file = tmp_path / "test.yaml"
    file.write_text(DEFINITION.format(kind="mushra", more="most_clips: 2"), encoding="utf-8")
    made = said(capsys, "create", str(file), "--storage", str(settings.storage))
    assert set(made["clips"]) == {named[0], named[2]}


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        ("mushra", "seats: 3", "seats is unknown"),
        ("ranking", "", "kind"),
        ("acr", "pairs: [[opus_64k, opus_12k]]", "only AB and ABX have them"),
        ("ab", "pairs: [[opus_64k, mp3]]", "expected two of"),
        ("mushra", "traps: [{file: a.wav, answer: 4}]", "only ACR and DCR"),
        ("mushra", "title: twice", "given twice"),
    ],
)
def test_a_definition_that_does_not_fit_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, more: str, told: str
) -> None:
    """It says which field; nothing is stored."""
    file = tmp_path / "test.yaml"
    file.write_text(DEFINITION.format(kind=kind, more=more), encoding="utf-8")
    assert call(["admin", "listening", "create", str(file), "--storage", str(tmp_path / "storage")]) != 0
    heard = capsys.readouterr().err
    assert told in heard
    assert "Traceback" not in heard


def test_more_than_twelve_signals_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """BS.1534-3: nine systems, two anchors and the reference."""
    file = tmp_path / "test.yaml"
    codecs = ", ".join(f"c{number}" for number in range(10))
    file.write_text(f"kind: mushra\ntitle: Too many\ncodecs: [{codecs}]\n", encoding="utf-8")
    assert call(["admin", "listening", "create", str(file), "--storage", str(tmp_path / "storage")]) != 0
    assert "leave out 1" in capsys.readouterr().err
