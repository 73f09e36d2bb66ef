"""Stamps and specifications: what identifies a run, and what does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.pipeline.run_codecs import HERE, Plain

import codec_superb
from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Isolation
from codec_superb.pipeline.runs import provenance
from codec_superb.pipeline.runs.info import codec_source, spec_hash


def test_the_commit_is_that_of_the_checkout_the_program_runs_from() -> None:
    """In a checkout commit and dirty flag are git's own, elsewhere they are None."""
    folder = Path(codec_superb.__file__).parent
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    status = subprocess.run(["git", "-C", folder, "status", "--porcelain"], capture_output=True, text=True, check=False)
    provenance.source_state.cache_clear()
    commit, dirty = provenance.source_state()
    if head.returncode == 0:
        assert (commit, dirty) == (head.stdout.strip(), bool(status.stdout.strip()))
    else:
        assert (commit, dirty) == (None, None)


def test_another_projects_checkout_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package installed below some repository has no commit of its own."""
    home = tmp_path / "lib" / "codec_superb"
    home.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(codec_superb, "__file__", str(home / "__init__.py"))
    provenance.source_state.cache_clear()
    assert provenance.source_state() == (None, None)
    monkeypatch.undo()
    provenance.source_state.cache_clear()


def test_a_stamp_names_program_machine_and_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version, Python, processor, device and the command line as typed, without the program's folder."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/codec-superb", "resynth", "--dataset", "a b"])
    stamp = provenance.stamp("resynth", "cpu")
    assert stamp.command == "codec-superb resynth --dataset 'a b'"
    assert stamp.tool_version == codec_superb.__version__
    assert stamp.processor
    assert stamp.started.endswith("+00:00")


def test_a_repeated_stamp_replaces_the_earlier_one() -> None:
    """Resuming ten times on one machine leaves one stamp; another circumstance leaves two."""
    first = provenance.stamp("resynth", "cpu")
    again = first.model_copy(update={"command": "other", "started": "later"})
    assert provenance.supersede((first,), again) == (again,)
    elsewhere = again.model_copy(update={"processor": "other"})
    assert provenance.supersede((again,), elsewhere) == (again, elsewhere)
    scoring = again.model_copy(update={"stage": "score"})
    assert provenance.supersede((again,), scoring) == (again, scoring)


def test_the_specification_changes_with_card_settings_dataset_and_file() -> None:
    """Whatever may change a row changes the hash; nothing else is in it."""
    card = Plain.card
    base = spec_hash(card, "a" * 64)
    assert base == spec_hash(card.model_copy(deep=True), "a" * 64)
    others = [
        spec_hash(card.model_copy(update={"settings": {"bitrate": 1}}), "a" * 64),
        spec_hash(card.model_copy(update={"version": "2"}), "a" * 64),
        spec_hash(card, "b" * 64),
        spec_hash(card, "a" * 64, b"code"),
    ]
    assert len({base, *others}) == 5


def test_only_a_codec_given_as_a_file_has_a_source() -> None:
    """A named codec is bound by its card."""
    assert codec_source("opus_12k", registry.card("opus_12k")) == b""
    assert codec_source("snac_24k", registry.card("snac_24k")) == b""
    assert codec_source(f"{HERE}:Plain", Plain.card) == Path(HERE).read_bytes()


def test_a_guest_and_a_lock_of_ones_own_belong_to_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another guest is another codec, although the card names it by the same path."""
    monkeypatch.chdir(tmp_path)
    Path("guest.py").write_text("one")
    Path("mine.txt").write_text(" lock")
    card = Plain.card.model_copy(update={"isolation": Isolation(lock="mine.txt", guest="guest.py")})
    assert codec_source("opus_12k", card) == b"one lock"
    Path("guest.py").write_text("two")
    assert codec_source("opus_12k", card) == b"two lock"
