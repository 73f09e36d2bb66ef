"""What a public table asks beyond truth: every limit from both sides, with the place and the number that came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pipeline.stats import KEYS, card, draw_rows, row, write_run

from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.submission.admission import check_admission
from codec_superb.pipeline.submission.check import OpenedSubmission, check_and_open
from codec_superb.pipeline.submission.facts.clips import KnownDataset
from codec_superb.pipeline.submission.findings import Findings, Problem
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.pipeline.submission.schema import Sample, Submitter
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue
from codec_superb.pipeline.tables.stored_rows import StoredRows

CARD = "submission.json: codec"
TOKENS = {"frame_rate": 50.0, "codebooks": 2, "codebook_size": 1024, "nominal_kbps": 1.0}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> OpenedSubmission:
    """Pack a run of twelve clips that nothing can be said against, and open it."""
    folder = tmp_path_factory.mktemp("admission")
    file = pack([write_run(folder, draw_rows(1, 12), card=card())], folder / "out.zip", submitter=Submitter(name="Ann"))
    opened = check_and_open(file)[1]
    assert opened is not None
    return opened


def asked(opened: OpenedSubmission, *, known: Any = None, **fields: Any) -> Findings:
    """Change fields of the submission, and of its ``card``, and ask for admission."""
    if "card" in fields:
        fields["codec"] = opened.submission.codec.model_copy(update=fields.pop("card"))
    findings = Findings()
    changed = replace(opened, submission=opened.submission.model_copy(update=fields))
    check_admission(changed, findings, known=known)
    return findings


def one(findings: Findings) -> Problem:
    """Expect exactly one problem."""
    (problem,) = findings.problems
    return problem


def test_a_good_submission_is_admitted(packed: OpenedSubmission) -> None:
    """Nothing is found and nothing noted, whether the datasets are known here or nobody can say."""
    everything = KnownDataset("0" * 64, {})
    for known in (None, lambda _name: everything):
        findings = asked(packed, known=known)
        assert (findings.problems, findings.notes) == ([], [])


def test_names_of_people_and_custom_datasets_keep_to_a_line(packed: OpenedSubmission) -> None:
    """They stand in lists of everybody: no stacked marks, unseen letters or second line, and a hundred characters."""
    (entry,) = packed.submission.datasets
    for text in ("a" + 5 * "\u0301", "x" * 101, "a\nb", "\u3164", "mini\u200b"):
        problem = one(asked(packed, submitter=Submitter(name=text)))
        assert problem.path == "submission.json: submitter.name"
        problem = one(asked(packed, kind="custom", datasets=(entry.model_copy(update={"title": text}),)))
        assert problem.path == "submission.json: datasets.0.title"
    assert one(asked(packed, card={"title": "two\nlines"})).path == f"{CARD}.title"
    assert one(asked(packed, card={"encode_only": True})).path == f"{CARD}.encode_only"


def test_custom_datasets_are_admitted_whatever_is_known(packed: OpenedSubmission) -> None:
    """A custom dataset is not looked up by its name; everything else is required of it too."""
    assert asked(packed, kind="custom", known=lambda _name: None).problems == []
    (entry,) = packed.submission.datasets
    problem = one(asked(packed, kind="custom", datasets=(entry.model_copy(update={"selected": 0}),)))
    assert problem.path == "submission.json: datasets.0.selected"


def test_a_dataset_that_nobody_knows_is_not_admitted(packed: OpenedSubmission) -> None:
    """Each dataset is asked for by its name, and the one that is not known is named with its place."""
    (entry,) = packed.submission.datasets
    two = (entry, entry.model_copy(update={"name": "nowhere"}))
    known = {entry.name: KnownDataset(entry.manifest_hash, {})}
    problem = one(asked(packed, datasets=two, known=known.get))
    assert (problem.path, problem.got) == ("submission.json: datasets.1.name", "nowhere")
    assert "/datasets" in problem.expected
    assert "admin datasets add" in problem.how_to_fix


def test_a_dataset_without_clips_is_not_admitted(packed: OpenedSubmission) -> None:
    """A run limited to nothing is no result; one clip is."""
    (entry,) = packed.submission.datasets
    none, single = (entry.model_copy(update={"selected": n}) for n in (0, 1))
    problem = one(asked(packed, datasets=(single, none)))
    assert (problem.path, problem.got) == ("submission.json: datasets.1.selected", "0")
    assert problem.expected == "at least one clip"


def test_a_file_that_nobody_signed_is_noted(packed: OpenedSubmission) -> None:
    """It is no fault of the numbers: a note tells how to sign."""
    findings = asked(packed, submitter=None)
    assert findings.problems == []
    assert findings.notes == [
        "the file names nobody (codec-superb pack --submitter NAME does): an account that sends it is shown"
    ]


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("year", 1900, 2100), ("sampling_rate", 1000, 10**6), ("nominal_kbps", 1e-6, 1e6),
        ("nominal_tolerance", 0.0, 10.0), ("frame_rate", 1e-6, 1e6), ("codebooks", 1, 10**6),
        ("codebook_size", 1, 10**12), ("delay_samples", 0, 10**8), ("latency_ms", 0.0, 1e7),
        ("block_frames", 1, 10**6), ("parameters", 0, 10**15),
    ],
)  # fmt: skip
def test_numbers_of_a_card_have_limits(packed: OpenedSubmission, field: str, least: float, most: float) -> None:
    """The least and the largest pass, what lies just beyond does not, whatever else is wrong."""
    others = {} if field.startswith("nominal") else {"nominal_tolerance": None}
    short = replace(packed, rows=())
    beyond = (least - 1, most + 1) if isinstance(most, int) else (least - 1e-7, most * 1.001)

    def places(value: float) -> list[Problem]:
        found = asked(short, card=others | {field: value, "parameters": -1} | {field: value}).problems
        return [problem for problem in found if problem.path == f"{CARD}.{field}"]

    assert places(least) == places(most) == []
    for value in beyond:
        (problem,) = places(value)
        assert (problem.got, problem.expected) == (f"{value}", f"{least:g} to {most:g}")
        assert problem.how_to_fix == "correct the codec's card and run again"


def test_channels_of_a_card_have_limits(packed: OpenedSubmission) -> None:
    """One to 64 channels each."""
    assert asked(packed, card={"channels": (1, 64)}).problems == []
    for channels in ((0, 1), (1, 65)):
        problem = one(asked(packed, card={"channels": channels}))
        assert (problem.path, problem.expected, problem.got) == (f"{CARD}.channels", "1 to 64 each", str(channels))


def test_codebooks_of_unequal_size_have_limits(packed: OpenedSubmission) -> None:
    """The largest of them may have 10¹² entries."""
    sizes = {"codebook_sizes": (8, 10**12), "nominal_tolerance": None}
    rows = tuple(entry.model_copy(update={"tokens": 4}) for entry in packed.rows)
    opened = replace(packed, rows=rows)
    assert asked(opened, card=sizes).problems == []
    problem = one(asked(opened, card=sizes | {"codebook_sizes": (8, 10**12 + 1)}))
    assert (problem.path, problem.got) == (f"{CARD}.codebook_sizes", str(10**12 + 1))
    assert problem.expected == "1 to 1e+12 each"


def test_rates_of_an_encoder_have_limits(packed: OpenedSubmission) -> None:
    """The highest may be that of any codec."""
    assert asked(packed, card={"encoder_rates": (1, 10**6)}).problems == []
    problem = one(asked(packed, card={"encoder_rates": (1, 10**6 + 1)}))
    assert (problem.path, problem.expected, problem.got) == (
        f"{CARD}.encoder_rates", "1 to 1e+06 each", str(10**6 + 1),
    )  # fmt: skip


def test_provenance_has_a_limit(packed: OpenedSubmission) -> None:
    """What a page shows of it: sixty datasets of a machine are far below, made-up packages or commands are not."""
    (entry,) = packed.submission.datasets
    (first, *others) = entry.provenance
    moments = [f"2025-01-02T03:04:{second:02}Z" for second in range(60)]
    many = [first.model_copy(update={"started": moment, "packages": {"numpy": "1" * 1000}}) for moment in moments]
    assert asked(packed, datasets=(entry.model_copy(update={"provenance": (*many, *others)}),)).problems == []
    packages = {f"package-{number}": "1.0" for number in range(4_000)}
    for made_up in ([{"packages": packages}], [{"command": f"{number}{'x' * 4000}"} for number in range(20)]):
        stamps = tuple(first.model_copy(update=fields) for fields in made_up)
        problem = one(asked(packed, datasets=(entry.model_copy(update={"provenance": (*stamps, *others)}),)))
        assert problem.path == "submission.json: datasets.provenance"
        assert problem.expected == "at most 65536 bytes of description"


@pytest.mark.parametrize("field", ["name", "family"])
def test_names_have_at_most_a_hundred_characters(packed: OpenedSubmission, field: str) -> None:
    """A hundred fit into a table, one more does not."""
    assert asked(packed, card={field: "a" * 100}).problems == []
    problem = one(asked(packed, card={field: "a" * 101}))
    assert (problem.path, problem.got) == (f"{CARD}.{field}", "a" * 101)
    assert problem.expected == "at most 100 characters"


@pytest.mark.parametrize("address", ["javascript:alert(1)", "ftp://example.org", "example.org", " https://x", ""])
def test_a_homepage_is_a_web_address(packed: OpenedSubmission, address: str) -> None:
    """A link on a public page leads to http or https and runs nothing."""
    assert asked(packed, card={"homepage": "http://example.org"}).problems == []
    problem = one(asked(packed, card={"homepage": address}))
    assert (problem.path, problem.got) == (f"{CARD}.homepage", address)


def measured(packed: OpenedSubmission, rows: list[ClipRow], **fields: Any) -> list[Problem]:
    """Ask for admission of other rows, aggregated as ``pack`` does."""
    opened = replace(packed, rows=tuple(rows))
    return asked(opened, aggregates=aggregate(rows, metrics=KEYS), card=fields).problems


def clips(kbps: float, seconds: float = 12.0, **fields: Any) -> list[ClipRow]:
    """Make two clips of together ``seconds`` at a bitrate."""
    samples = round(16000 * seconds / 2)
    return [row(name, samples=samples, bits=round(500 * kbps * seconds), **fields) for name in "ab"]


@pytest.mark.parametrize(("kbps", "fits"), [(16, True), (18, True), (14, True), (19.1, False), (13.5, False)])
def test_the_measured_bitrate_is_that_of_the_card(packed: OpenedSubmission, kbps: float, fits: bool) -> None:
    """Within 15 % of the nominal 16 kbps on either side; beyond, both numbers are named."""
    found = measured(packed, clips(kbps), nominal_tolerance=0.15)
    if fits:
        assert found == []
        return
    (problem,) = found
    assert problem.path == "submission.json: aggregates.datasets.0.kbps"
    assert problem.expected == "16 kbps within 15%, as the card says"
    assert problem.got == f"{kbps:g} kbps on mini (speech, 12.0 s), from its bits"


def test_the_tolerance_is_the_last_that_fits(packed: OpenedSubmission) -> None:
    """A quarter less than 16 kbps is within 25 %, which are exact in binary; a quarter more, and the ends of clips."""
    assert measured(packed, clips(12), nominal_tolerance=0.25) == []
    assert measured(packed, clips(11.99), nominal_tolerance=0.25) != []
    assert measured(packed, clips(20 * 12.39 / 12), nominal_tolerance=0.25) == []
    assert measured(packed, clips(20 * 12.41 / 12), nominal_tolerance=0.25) != []


def test_short_clips_have_ends_too(packed: OpenedSubmission) -> None:
    """Spoken digits: encoders fill their delay and the last frame, as AAC does at 16 kbps with 0.18 s."""
    digits = [row(f"d{at}", samples=10_160, bits=round(16_000 * (0.635 + 0.18))) for at in range(30)]
    assert measured(packed, digits, nominal_tolerance=0.15) == []
    dearer = [entry.model_copy(update={"bits": 2 * (entry.bits or 0)}) for entry in digits]
    assert measured(packed, dearer, nominal_tolerance=0.15) != []


def test_where_a_card_promises_no_bitrate(packed: OpenedSubmission) -> None:
    """No promise: less than ten seconds, other sound than speech, no nominal bitrate, no tolerance, unknown bits."""
    wrong = clips(32)
    assert len(measured(packed, wrong)) == 1
    assert len(measured(packed, clips(32, 10.0))) == 1
    assert measured(packed, clips(32, 9.9)) == []
    assert measured(packed, clips(32, category="music")) == []
    assert measured(packed, wrong, nominal_kbps=None) == []
    assert measured(packed, wrong, nominal_tolerance=None) == []
    assert measured(packed, [entry.model_copy(update={"bits": None}) for entry in wrong]) == []


def test_every_dataset_is_held_against_the_card(packed: OpenedSubmission) -> None:
    """What is not promised for music does not end the look at the speech behind it."""
    rows = clips(32, dataset="a", category="music") + clips(32, dataset="b") + clips(9, dataset="c")
    (problem,) = measured(packed, rows)
    assert problem.path == "submission.json: aggregates.datasets.1.kbps"
    assert problem.got.endswith("; and 1 more like it: submission.json: aggregates.datasets.2.kbps")


def tokens(count: int | None, seconds: float = 10.0, dataset: str = "mini", **fields: Any) -> list[ClipRow]:
    """Make two clips of together ``seconds`` with ``count`` tokens each, ten bits a token."""
    samples = round(16000 * seconds / 2)
    bits = 10 * (count or 0)
    return [row(name, dataset=dataset, samples=samples, bits=bits, tokens=count, **fields) for name in "ab"]


def token_problems(packed: OpenedSubmission, rows: list[ClipRow], **fields: Any) -> list[Problem]:
    """Ask for admission of a codec of 100 tokens a second; return what is said of tokens."""
    card_fields = TOKENS | {"nominal_tolerance": 0.1} | fields
    return [problem for problem in measured(packed, rows, **card_fields) if problem.path.endswith(": tokens")]


@pytest.mark.parametrize(("count", "fits"), [(500, True), (450, True), (449, False), (552, True), (553, False)])
def test_tokens_a_second_are_those_of_the_card(packed: OpenedSubmission, count: int, fits: bool) -> None:
    """1,000 in ten seconds: 900 at least, at most 1,100 and a frame of two for each of the two clips."""
    found = token_problems(packed, tokens(count))
    if fits:
        assert found == []
        return
    (problem,) = found
    assert problem.path == "clips.parquet: mini: tokens"
    assert problem.expected == "100 tokens per second within 10%, frame rate × codebooks of the card"
    assert problem.got == f"{count / 5:g}, {2 * count} tokens in 10.0 s"


def test_a_block_of_frames_may_be_filled(packed: OpenedSubmission) -> None:
    """A codec that codes five frames at one go may add ten tokens to each clip."""
    assert token_problems(packed, tokens(560), block_frames=5) == []
    assert token_problems(packed, tokens(561), block_frames=5) != []


def test_without_a_tolerance_tokens_have_one(packed: OpenedSubmission) -> None:
    """A card whose bitrate is free still has a frame rate: 15 %."""
    assert token_problems(packed, tokens(577), nominal_tolerance=None) == []
    (problem,) = token_problems(packed, tokens(578), nominal_tolerance=None)
    assert "within 15%" in problem.expected


def test_where_a_card_promises_no_tokens(packed: OpenedSubmission) -> None:
    """No promise: less than ten seconds, or no frame rate; the next dataset is looked at all the same."""
    assert token_problems(packed, tokens(999, 9.9)) == []
    assert token_problems(packed, tokens(999), frame_rate=None) == []
    found = token_problems(packed, tokens(999, 9.9, "a") + tokens(999, dataset="b"))
    assert [problem.path for problem in found] == ["clips.parquet: b: tokens"]


def test_every_clip_of_a_token_codec_has_tokens(packed: OpenedSubmission) -> None:
    """A clip without their number is named; a failed one needs none, and those behind it are still counted."""
    failure = {"status": "failed", "stage": "encode", "error_type": "E", "error": "e"}
    rows = [row("0", **failure), row("1", samples=8), *tokens(999)]
    found = token_problems(packed, rows)
    assert [problem.path for problem in found] == ["clips.parquet: mini/1: tokens", "clips.parquet: mini: tokens"]
    assert found[0].got == "None"


def test_other_codecs_need_no_tokens(packed: OpenedSubmission) -> None:
    """Opus has no codebooks: nobody asks for tokens."""
    assert [p for p in measured(packed, tokens(None, 1.0)) if "tokens" in p.path] == []


@pytest.mark.parametrize("letter", ["\0", "\x1b", "\x7f", "\x85", "\u202e", "\u2066", "\u2069"])
def test_hidden_letters_are_refused_wherever_they_stand(packed: OpenedSubmission, letter: str) -> None:
    """In a title, in a setting's name and value, in a list: the place is named, and the text is shown escaped."""
    problem = one(asked(packed, card={"title": f"a{letter}b"}))
    assert (problem.path, problem.got) == (f"{CARD}.title", repr(f"a{letter}b"))
    nested = {"deep": [{"list": "fine"}, f"x{letter}"], f"n{letter}": 1}
    places = [problem.path for problem in asked(packed, card={"settings": nested}).problems]
    assert places == [f"{CARD}.settings.deep.1", f"{CARD}.settings (a name)"]


def test_lines_and_letters_of_all_languages_are_text(packed: OpenedSubmission) -> None:
    """Line ends, tabs, accents, Arabic and emoji are no control characters."""
    assert asked(packed, card={"standard": "é\n\t\rمرحبا 🎵"}).problems == []


def test_texts_end(packed: OpenedSubmission) -> None:
    """5,000 characters pass, one more is counted and refused."""
    assert asked(packed, card={"training_data": "x" * 5000}).problems == []
    problem = one(asked(packed, card={"training_data": "x" * 5001}))
    assert (problem.path, problem.got) == (f"{CARD}.training_data", "5001")
    assert problem.expected == "at most 5000 characters"


def test_samples_that_do_not_play(packed: OpenedSubmission) -> None:
    """Both files of a sample are decoded, and the one that is missing or no sound is named with the reason."""
    names = {"reference": "samples/00-reference.ogg", "resynthesis": "samples/00-resynthesis.ogg"}
    hashes = {"reference_sha256": "0" * 64, "resynthesis_sha256": "0" * 64}
    about = {"dataset": "mini", "clip": "a", "category": "speech", "licence": "CC0-1.0", "attribution": "me"}
    sample = Sample(**about, **names, **hashes)  # type: ignore[arg-type]  # one dict of texts
    sound = ogg_opus(np.zeros(4800, np.float32), 48000)
    opened = replace(packed, members={names["reference"]: sound})
    problem = one(asked(opened, samples=(sample,)))
    assert problem.path == names["resynthesis"]
    assert problem.expected == "one mono Ogg Opus stream that decodes, of at most ten seconds, and nothing behind it"
    assert problem.got != "None"
    assert problem.how_to_fix == "pack again with --samples"


def test_samples_are_the_sound_that_was_scored(packed: OpenedSubmission) -> None:
    """One nearer to its reference than the row says is doubted, and so is noise beside a clear row; others are not."""
    names = {"reference": "samples/00-reference.ogg", "resynthesis": "samples/00-resynthesis.ogg"}
    hashes = {"reference_sha256": "0" * 64, "resynthesis_sha256": "0" * 64}
    about = {"dataset": "mini", "clip": "a", "category": "speech", "licence": "CC0-1.0", "attribution": "me"}
    sample = Sample(**about, **names, **hashes)  # type: ignore[arg-type]  # one dict of texts
    random = np.random.default_rng(1)
    clean = 0.3 * np.sin(np.arange(48000) * 2 * np.pi * 440 / 48000)
    noisy = clean + random.normal(0, 0.12, clean.size)  # 5 dB
    for decibels, sound, doubted in (
        (5.0, clean, True), (5.0, noisy, False), (30.0, clean, False), (12.0, random.normal(0, 0.2, 48000), True),
        (-20.0, random.normal(0, 0.2, 48000), False),
    ):  # fmt: skip
        rows = [row("a", samples=16000, metrics={"si_sdr": MetricValue(status="ok", value=decibels)})]
        members = {names["reference"]: ogg_opus(clean.astype(np.float32), 48000),
                   names["resynthesis"]: ogg_opus(sound.astype(np.float32), 48000)}  # fmt: skip
        found = asked(replace(packed, members=members, rows=StoredRows.of(rows)), samples=(sample,))
        assert [note for note in found.notes if "another sound" in note] == found.notes[: int(doubted)], decibels
