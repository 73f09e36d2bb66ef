"""Cards: two fields are enough, the catalogue states all, and what was checked of a codec reads the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.codecs.cards import make_card
from support.pipeline.run_codecs import Plain

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import EVIDENCE, NOT_STATED, Card
from codec_superb.base_codec.catalogue_file import card_from, read_catalogue
from codec_superb.base_codec.errors import CardError, CatalogueError, CodecError, RefusedSetting
from codec_superb.cli.main import call
from codec_superb.pipeline.runs.info import spec_hash

GUIDE = Path(__file__).parents[2] / "docs" / "neural-codecs.md"
ROW = re.compile(r"^\| `(\w+)` \| ([a-z ]+) \| ([\d-]*) ?\|", re.MULTILINE)


def test_name_and_rate_are_enough() -> None:
    """What is not stated reads so; family and title follow from the name, the bitrate from the codebooks."""
    card = Card(name="mine_1.5k", sampling_rate=24_000)
    assert (card.family, card.title, card.channels, card.bit_source) == ("mine_1_5k", "mine_1.5k", (1,), "measured")
    assert {card.version, card.kind, card.licence} == {NOT_STATED}
    assert "delay_samples" in card.missing_statements()
    assert "title" not in card.missing_statements()
    tokens = Card(name="t", sampling_rate=24_000, frame_rate=75, codebooks=8, codebook_size=1024)
    assert tokens.nominal_kbps == 6.0


def test_the_catalogue_states_everything() -> None:
    """No card of the program leaves out what a public board asks for."""
    assert {name: found for name in registry.names() if (found := registry.card(name).missing_statements())} == {}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("sampling_rate", 16, "greater than or equal to 1000"),
        ("channels", [0], "greater than or equal to 1"),
        ("nominal_kbps", 0, "greater than 0"),
        ("nominal_kbps", float("inf"), "a finite number"),
        ("frame_rate", -75, "greater than 0"),
        ("codebooks", 0, "greater than or equal to 1"),
        ("delay_samples", float("nan"), "a finite number"),
        ("latency_ms", -1, "greater than or equal to 0"),
        ("year", -2026, "greater than or equal to 1900"),
    ],
)
def test_numbers_that_no_codec_has_are_refused(field: str, value: object, expected: str) -> None:
    """One sentence names the field, what it takes, and what came."""
    with pytest.raises(CatalogueError, match=rf"{field}[.\w]*: expected {expected}, got "):
        card_from({"name": "mine", "sampling_rate": 16000, field: value}, "mine.py")


def test_a_key_that_is_given_twice_is_refused() -> None:
    """In a catalogue file too; a key beside `<<` replaces what is merged, as YAML says."""
    text = "{{family: f, target: 'm:C', card: {{{}}}, codecs: {{f_1: {{sampling_rate: 8000}}}}}}"
    assert read_catalogue(text.format("<<: {causal: true}, causal: false, latency_ms: 1"), "f.yaml")
    with pytest.raises(CatalogueError, match="the key year is given twice"):
        read_catalogue(text.format("year: 2000, year: 2001"), "f.yaml")


def test_a_found_delay_is_no_part_of_the_identity() -> None:
    """Each run finds its own; runs of one codec stay runs of one codec."""
    card = Card(name="mine", sampling_rate=24_000)
    found = card.model_copy(update={"delay_samples": 120, "delay_source": "found"})
    assert found.identity() == card.identity()
    assert card.model_copy(update={"delay_samples": 120}).identity() != card.identity()


def test_a_card_is_written_as_by_earlier_versions() -> None:
    """A newer field of the usual value is left out, so that hashes of older submissions stay true; else it is kept."""
    usual = make_card()
    assert not usual.model_dump().keys() & {"bit_source", "delay_source"}
    found = usual.model_copy(update={"bit_source": "unknown", "delay_source": "found"})
    assert Card.model_validate_json(found.model_dump_json()) == found


def test_declared_bits_need_a_bitrate() -> None:
    """Bits cannot be computed from nothing."""
    with pytest.raises(CardError, match="expected nominal_kbps above 0, since its bits are declared"):
        Card(name="mine", sampling_rate=24_000, bit_source="declared")


def test_the_guides_table_is_that_of_the_cards() -> None:
    """Each neural family has one row, with the evidence and the date that all of its cards state."""
    cards = [card for card in map(registry.card, registry.names()) if card.kind == "neural"]
    stated = {(card.family, EVIDENCE[card.evidence], card.evidence_date or "") for card in cards}
    section = GUIDE.read_text(encoding="utf-8").partition("## What was checked")[2]
    rows = ROW.findall(section)
    assert sorted(rows) == sorted(stated)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "neural", "evidence": "compared"},
        {"kind": "neural", "evidence_date": "2026-11-22"},
        {"kind": "classical", "evidence": "seen", "evidence_date": "2026-11-22"},
        {"kind": "neural", "evidence": "seen", "evidence_date": "yesterday"},
        {"kind": "neural", "evidence": "trusted", "evidence_date": "2026-11-22"},
    ],
)
def test_evidence_has_a_date_and_is_of_a_neural_codec(changes: dict[str, str]) -> None:
    """A check without a date, a date without a check and words of one's own are refused."""
    with pytest.raises(ValidationError, match="evidence"):
        make_card("checked", **changes)


def test_a_check_changes_no_run() -> None:
    """What was checked today leaves the runs of yesterday theirs."""
    before = make_card("checked", kind="neural")
    after = make_card("checked", kind="neural", evidence="seen", evidence_date="2026-11-22")
    assert spec_hash(before, "a" * 64) == spec_hash(after, "a" * 64)


def test_listings_say_what_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """`codecs list` has it for neural codecs alone, `codecs show` with the date."""
    assert call(["codecs", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert " seen " in lines["codec"]
    assert " code compared " in lines["snac_24k"]
    assert " neither " in lines["mimi_8cb"]
    assert not any(word in lines["opus_12k"] for word in EVIDENCE.values())
    for name, expected in (("snac_24k", "evidence code compared, 2026-11-22"), ("mimi_8cb", "evidence neither")):
        assert call(["codecs", "show", name]) == 0
        assert expected in " ".join(capsys.readouterr().out.split())
    assert call(["codecs", "show", "opus_12k"]) == 0
    assert "evidence" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "fields", "words"),
    [
        ((), {"name": "MyCodec", "sampling_rate": 24000}, "lower-case letters.*my_codec_6k, got 'MyCodec'"),
        ((), {"name": "mine", "sample_rate": 24000}, "sampling_rate is missing: state it; sample_rate is unknown"),
        (("mine", 16000), {}, "takes its fields by name: Card"),
    ],
)
def test_a_wrong_card_is_answered_with_sentences(given: tuple[Any, ...], fields: dict[str, Any], words: str) -> None:
    """One error of codecs, which is a ValueError, without the form of pydantic."""
    with pytest.raises(CardError, match=words) as caught:
        Card(*given, **fields)
    assert isinstance(caught.value, CodecError)
    assert isinstance(caught.value, ValueError)
    assert "pydantic" not in str(caught.value)


def test_a_codec_takes_the_card_of_its_class() -> None:
    """An instance needs no argument where the class has a card; without one the sentence says where it goes."""
    assert Plain().card is Plain.card
    assert Plain(make_card("other")).card.name == "other"

    class Cardless(Plain):
        card = None  # type: ignore[assignment]

    with pytest.raises(RefusedSetting, match="Cardless: expected a card, as a class attribute or"):
        Cardless()
