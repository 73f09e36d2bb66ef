"""Requirements of a leaderboard beyond the consistency that ``check`` tests; used by ``submit`` and the service.

``check`` accepts named datasets that are not known here, because their results are useful locally. A public
leaderboard needs more: known datasets unless they are custom, bitrates that the card does not contradict, texts and
numbers that every database and page can hold, listening samples that play.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codec_superb.base_codec.card import NOT_STATED, Card
from codec_superb.pipeline.runs.info import is_imported
from codec_superb.pipeline.submission.check import OpenedSubmission
from codec_superb.pipeline.submission.facts.check_sound import check_sound
from codec_superb.pipeline.submission.facts.clips import Known
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.pipeline.submission.statements import unstated
from codec_superb.pipeline.submission.titles import title_fault
from codec_superb.pipeline.tables.rows import ClipRow

# headers and the first frames of short clips raise a measured bitrate
LEAST_SECONDS = 10.0
"""Audio from which on a measured bitrate is held against the nominal one."""
CLIP_ENDS = 0.2
"""Seconds of bits that a clip may have beyond its length: AAC at 16 kbps codes 0.18 s, MP3 at 16 kbps 0.16 s more than
spoken digits of 0.6 s."""
TEXT_LIMIT = 5000
"""Characters of any text of ``submission.json``."""
NAME_LIMIT = 100
"""Characters of a name: of a codec, a family, who sends it, a dataset of the submitter's."""
CARD_LIMIT = 64 << 10
"""Bytes of a card with its settings, as JSON; the largest of the catalogue has 3 kB."""
PROVENANCE_LIMIT = 64 << 10
"""Bytes of the stamps of stages, as a page shows them: of those that differ in command and time alone one, and each
command once. A stamp has 1.4 kB at most, a submission of a machine two to four that differ."""
DESCRIPTION_LIMIT = 1 << 20
"""Bytes of what is said of all datasets: how they were run and probed, with which settings and packages."""
_TOKEN_TOLERANCE = 0.15
# Unicode's bidirectional controls: text that is shown in another order than it is stored (CVE-2021-42574)
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_RANGES: dict[str, tuple[float, float]] = {
    "year": (1900, 2100),
    "sampling_rate": (1000, 1e6),
    "nominal_kbps": (1e-6, 1e6),
    "nominal_tolerance": (0, 10),
    "frame_rate": (1e-6, 1e6),
    "codebooks": (1, 1e6),
    "codebook_size": (1, 1e12),
    "delay_samples": (0, 1e8),
    "latency_ms": (0, 1e7),
    "block_frames": (1, 1e6),
    "parameters": (0, 1e15),
}
"""Field of a card to its admitted range; wide, to exclude impossible values alone."""
_CARD = f"{SUBMISSION_NAME}: codec"


def check_admission(
    opened: OpenedSubmission, findings: Findings, *, known: Known | None = None, public: bool = True
) -> None:
    """Add what a leaderboard would refuse.

    ``known`` answers for the leaderboard's datasets, as in ``check``; None where none is known here. Custom datasets,
    which are shown apart, are not asked for. A board of one machine, which is not ``public``, shows its own runs
    whatever their cards leave open.
    """
    submission = opened.submission
    if submission.kind == "named" and known is not None:
        _check_datasets(submission, known, findings)
    for position, dataset in enumerate(submission.datasets):
        if dataset.selected == 0:
            where = f"{SUBMISSION_NAME}: datasets.{position}.selected"
            findings.add(where, "at least one clip", 0, "leave the dataset out, or run it")
    _check_card(submission.codec, findings)
    if public:
        _check_statements(submission, findings)
        _check_title(submission.codec, findings)
        _check_names(submission, findings)
    _check_bitrates(submission, opened.rows, findings)
    document = submission.model_dump(mode="json")
    _check_texts(document, findings)
    _check_sizes(document, findings)
    check_sound(submission, opened.members, opened.rows, known, findings)
    if public and submission.submitter is None:
        findings.note(
            "the file names nobody (codec-superb pack --submitter NAME does): an account that sends it is shown"
        )


def _check_datasets(submission: Submission, known: Known, findings: Findings) -> None:
    for position, dataset in enumerate(submission.datasets):
        if known(dataset.name) is None:
            findings.add(
                f"{SUBMISSION_NAME}: datasets.{position}.name",
                "a dataset that this leaderboard knows (see its page /datasets)",
                dataset.name,
                "leave it out, or ask a maintainer to add it (codec-superb admin datasets add)",
            )


def _check_card(card: Card, findings: Findings) -> None:
    for name, (least, most) in _RANGES.items():
        value = getattr(card, name)
        if value is not None and not least <= value <= most:
            findings.add(f"{_CARD}.{name}", f"{least:g} to {most:g}", value, "correct the codec's card and run again")
    if not all(1 <= channels <= 64 for channels in card.channels):  # noqa: PLR2004 -- more than any codec has
        findings.add(f"{_CARD}.channels", "1 to 64 each", card.channels, "correct the codec's card and run again")
    for name, each in (("codebook_sizes", "codebook_size"), ("encoder_rates", "sampling_rate")):
        largest, most = max(getattr(card, name) or (1,)), _RANGES[each][1]
        if largest > most:
            fix = "correct the codec's card and run again"
            findings.add(f"{_CARD}.{name}", f"1 to {most:g} each", largest, fix)
    if card.encode_only:
        fix = "correct the codec's card and run again"
        findings.add(f"{_CARD}.encode_only", "false, of a codec whose resyntheses were scored", True, fix)
    for name in ("name", "family"):
        if len(getattr(card, name)) > NAME_LIMIT:
            fix = "choose a shorter name in the codec's card and run again"
            findings.add(f"{_CARD}.{name}", f"at most {NAME_LIMIT} characters", getattr(card, name), fix)
    if card.homepage != NOT_STATED and not card.homepage.startswith(("https://", "http://")):
        fix = "give the address of the codec's page in its card and run again"
        findings.add(f"{_CARD}.homepage", "an address that begins with https:// or http://", card.homepage, fix)


def _check_statements(submission: Submission, findings: Findings) -> None:
    """Expect a card that says what the codec is to people who have only the board."""
    imported = is_imported(stamp for dataset in submission.datasets for stamp in dataset.provenance)
    if missing := unstated(submission.codec, imported=imported):
        fix = "state them in its card, or in a file: codec-superb pack --card FILE.yaml"
        findings.add(_CARD, "a card that says what the codec is", f"no {', no '.join(missing)}", fix)


def _check_title(card: Card, findings: Findings) -> None:
    """Expect one line of visible text; characters that no text may have are found with the others."""
    fault = None if _has_hidden(card.title) else title_fault(card.title)
    if fault is not None:
        fix = "change the title in the codec's card, or in a file: codec-superb pack --card FILE.yaml"
        findings.add(f"{_CARD}.title", *fault, fix)


def _check_names(submission: Submission, findings: Findings) -> None:
    """Expect one line of visible text of whoever sends it, and of datasets whose names are the file's own words."""
    names = {"submitter.name": submission.submitter.name} if submission.submitter else {}
    if submission.kind == "custom":
        for position, dataset in enumerate(submission.datasets):
            names |= {f"datasets.{position}.{field}": getattr(dataset, field) for field in ("name", "title")}
    for where, text in names.items():
        fault = None if _has_hidden(text) else title_fault(text, NAME_LIMIT)
        if fault is not None:
            findings.add(f"{SUBMISSION_NAME}: {where}", *fault, "choose another name, and pack it again")


def _check_bitrates(submission: Submission, rows: Sequence[ClipRow], findings: Findings) -> None:
    """Compare the measured bitrate with the card's, within ``nominal_tolerance``, where that applies.

    A token codec's bitrate does not depend on the sound; other codecs are held to it on speech alone, since many spend
    fewer bits on silence and more on noise. Each clip may have :data:`CLIP_ENDS` more: encoders fill their delay and
    the last frame.
    """
    card = submission.codec
    if card.frame_bits is not None:
        _check_tokens(card, rows, findings)
    tolerance = card.nominal_tolerance
    if not card.nominal_kbps or tolerance is None:
        return
    for position, entry in enumerate(submission.aggregates.datasets):
        promised = entry.category == "speech" or card.frame_bits is not None
        if not promised or entry.seconds < LEAST_SECONDS or entry.kbps is None:
            continue
        longest = 1 + (0.0 if card.frame_bits is not None else CLIP_ENDS * entry.ok / entry.seconds)
        if not 1 - tolerance <= entry.kbps / card.nominal_kbps <= (1 + tolerance) * longest:
            findings.add(
                f"{SUBMISSION_NAME}: aggregates.datasets.{position}.kbps",
                f"{card.nominal_kbps:.6g} kbps within {tolerance:.0%}, as the card says",
                f"{entry.kbps:.6g} kbps on {entry.dataset} ({entry.category}, {entry.seconds:.1f} s), from its bits",
                "count the bits that are sent, or correct nominal_kbps, nominal_tolerance or bitrate_note of the card",
            )


def _check_tokens(card: Card, rows: Sequence[ClipRow], findings: Findings) -> None:
    """Expect tokens of every clip of a token codec, and as many a second as the card says.

    A codec may fill a frame, or a block of them (``block_frames``), with silence at the end of each clip. How long a
    sample waits (``latency_ms``) is unrelated: many codecs need the whole clip and fill one frame.
    """
    counts: dict[str, tuple[int, float, int]] = {}
    for row in rows:
        if row.status != "ok":
            continue
        if row.tokens is None:
            where = f"clips.parquet: {row.dataset}/{row.clip}: tokens"
            findings.add(where, "their number, for a codec with codebooks", None, "return tokens from the wrapper")
            continue
        tokens, seconds, clips = counts.get(row.dataset, (0, 0.0, 0))
        counts[row.dataset] = tokens + row.tokens, seconds + (row.seconds or 0.0), clips + 1
    expected = card.tokens_per_second
    for name, (tokens, seconds, clips) in counts.items():
        limit = _TOKEN_TOLERANCE if card.nominal_tolerance is None else card.nominal_tolerance
        if not expected or card.frame_rate is None or seconds < LEAST_SECONDS:
            continue
        # each clip may end with a block that silence fills (decision 13)
        most = seconds * (1 + limit) + clips * card.block_frames / card.frame_rate
        if not seconds * (1 - limit) <= tokens / expected <= most:
            findings.add(
                f"clips.parquet: {name}: tokens",
                f"{expected:.6g} tokens per second within {limit:.0%}, frame rate × codebooks of the card",
                f"{tokens / seconds:.6g}, {tokens} tokens in {seconds:.1f} s",
                "correct frame_rate and codebooks of the card, or the tokens that the wrapper counts",
            )


def _check_texts(document: Any, findings: Findings) -> None:
    """Refuse texts that a database or a page cannot hold: control characters, and texts beyond the limit."""
    for where, text in _strings(document, ""):
        if _has_hidden(text):
            findings.add(f"{SUBMISSION_NAME}: {where}", "text without control characters", repr(text), "take them out")
        if len(text) > TEXT_LIMIT:
            fix = f"shorten it to {TEXT_LIMIT} characters"
            findings.add(f"{SUBMISSION_NAME}: {where}", f"at most {TEXT_LIMIT} characters", len(text), fix)


def _check_sizes(document: Mapping[str, Any], findings: Findings) -> None:
    """Refuse descriptions that make a page of megabytes; what follows from the rows has limits of its own."""
    described = {name: value for name, value in document.items() if name not in {"aggregates", "samples", "codec"}}
    stamps = [stamp for dataset in document["datasets"] for stamp in dataset["provenance"]]
    once = {json.dumps(stamp | {"command": "", "started": ""}) for stamp in stamps}
    shown = [*once, *{stamp["command"] for stamp in stamps}]
    for name, part, limit in (
        ("codec", document["codec"], CARD_LIMIT), ("datasets.provenance", shown, PROVENANCE_LIMIT),
        ("datasets", described, DESCRIPTION_LIMIT),
    ):  # fmt: skip
        size = len(json.dumps(part, ensure_ascii=False).encode())
        if size > limit:
            fix = "shorten settings, packages and other texts, and pack again"
            findings.add(f"{SUBMISSION_NAME}: {name}", f"at most {limit} bytes of description", size, fix)


def _has_hidden(text: str) -> bool:
    """Whether a text has such letters; ends of lines and tabs are what a title has not, and other texts may have."""
    return any(_is_hidden(letter) for letter in text if letter not in "\n\t\r")


def _is_hidden(letter: str) -> bool:
    """Find control characters, and bidirectional formatting marks, which make one name look like another."""
    # Cc: control characters; Cs: lone surrogates
    return unicodedata.category(letter) in {"Cc", "Cs"} or letter in _TURNING


def _strings(data: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        yield where.removeprefix("."), data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield f"{where} (a name)".removeprefix("."), str(name)
            yield from _strings(value, f"{where}.{name}")
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield from _strings(value, f"{where}.{position}")
