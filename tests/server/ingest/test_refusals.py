"""What is not true is refused with every place, what was expected there, what came, and how to put it right."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import draw_rows, ok, row
from support.pipeline.submissions import reseal
from support.server.ingest import CLIPS, Service, changed_members, drawn, make_file

from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.ingest.checker import Checker

Document = dict[str, Any]


def edited(data: bytes, change: Callable[[Document], object], *, seal: bool = True) -> bytes:
    """Change submission.json and make its hashes right."""
    members = read_archive(io.BytesIO(data))
    document = json.loads(members["submission.json"])
    change(document)
    members["submission.json"] = json.dumps(document).encode()
    if seal:
        reseal(members)
    return changed_members(data, document=members["submission.json"])


def with_rows(data: bytes, change: Callable[[list[ClipRow]], object]) -> bytes:
    """Change the rows and make the hashes right."""
    members = read_archive(io.BytesIO(data))
    table = open_table(io.BytesIO(members["clips.parquet"]))
    rows = list(table)
    change(rows)
    out = io.BytesIO()
    write_table(out, rows, table.metrics)
    members["clips.parquet"] = out.getvalue()
    reseal(members)
    return changed_members(data, document=members["submission.json"], rows=out.getvalue())


def replaced(rows: list[ClipRow], number: int, **fields: Any) -> None:
    """Replace fields of one row."""
    rows[number] = rows[number].model_copy(update=fields)


GOOD = drawn("refused_16k")
TOKENS = {"kind": "neural", "frame_rate": 50.0, "codebooks": 2, "codebook_size": 1024, "nominal_kbps": 1.0}


def token_rows(tokens: int | None) -> list[ClipRow]:
    """Rows of a codec of 100 tokens a second, whose clips hold ``tokens`` each."""
    bits = 1000 if tokens is None else 10 * tokens
    return [
        entry.model_copy(update={"tokens": tokens, "bits": bits, "samples": 16000}) for entry in draw_rows(1, CLIPS)
    ]


DOCUMENTS: dict[str, tuple[Callable[[Document], object], str]] = {
    "an aggregate": (
        lambda d: d["aggregates"]["categories"][0]["score"].update(value=0.99), "aggregates.categories.0.score.value",
    ),
    "an interval": (lambda d: d["aggregates"]["datasets"][0]["score"].update(low=0.1), "datasets.0.score.low"),
    "a bitrate": (lambda d: d["aggregates"]["datasets"][0].update(kbps=8.0), "aggregates.datasets.0.kbps"),
    "an unknown metric": (lambda d: d["metrics"].update(gold="1"), "clips.parquet"),
    "another definition": (lambda d: d["metrics"].update(pesq="0"), "metrics.pesq"),
    "an unknown dataset": (lambda d: d["datasets"][0].update(name="nowhere"), "datasets.0.name"),
    "another manifest": (lambda d: d["datasets"][0].update(manifest_hash="0" * 64), "datasets.0.manifest_hash"),
    "a smaller dataset": (lambda d: d["datasets"][0].update(clips=13), "datasets.0.clips"),
    "an own folder without a clip": (
        lambda d: (d.update(kind="custom"), d["datasets"][0].update(selected=0)), "datasets.0.selected",
    ),
    "random weights": (
        lambda d: d["codec"].update(weights={"source": "random", "revision": None, "sha256": None}),
        "codec.weights.source",
    ),
    "a long name": (lambda d: d["codec"].update(name="a" * 101), "codec.name"),
    "a script for an address": (lambda d: d["codec"].update(homepage="javascript:alert(1)"), "codec.homepage"),
    "text that runs backwards": (lambda d: d["codec"].update(title="a\u202ekcor"), "codec.title"),
    "a control character": (lambda d: d["codec"].update(title="a\x00b"), "codec.title"),
    "an endless text": (lambda d: d["codec"].update(title="a" * 6000), "codec.title"),
    "a nonsense number": (lambda d: d["codec"].update(sampling_rate=10**12), "codec.sampling_rate"),
    "a nonsense codebook": (
        lambda d: d["codec"].update(frame_rate=50.0, codebooks=2, codebook_sizes=[2**50, 2], nominal_kbps=2.55),
        "codec.codebook_sizes",
    ),
    "a field too many": (lambda d: d.update(rank=1), "submission.json"),
}  # fmt: skip


class TestDocument:
    """``submission.json``."""

    @pytest.mark.sample(6)
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_an_untrue_document_is_refused_with_the_place(self, service: Service, name: str) -> None:
        """Each is found though all hashes are right."""
        change, place = DOCUMENTS[name]
        found = service.problems(edited(GOOD, change, seal=name != "a field too many"))
        assert any(place in problem["path"] for problem in found), found

    def test_both_numbers_are_named(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        """A changed aggregate is shown beside what the rows give; sent again at once, without another check."""
        wrong = edited(GOOD, lambda d: d["aggregates"]["datasets"][0].update(kbps=8.0))
        (problem,) = service.problems(wrong)
        assert problem["expected"].endswith("recomputed from clips.parquet")
        assert problem["got"] == "8.0"
        monkeypatch.setattr(Checker, "check", None)
        assert service.problems(wrong) == [problem]

    @pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
    def test_numbers_that_are_none(self, service: Service, text: str) -> None:
        """Strict JSON holds finite numbers only."""
        document = read_archive(io.BytesIO(GOOD))["submission.json"].replace(
            b'"year": 2012', b'"year": ' + text.encode()
        )
        (problem,) = service.problems(changed_members(GOOD, document=document))
        assert "finite" in problem["got"]

    def test_a_file_changed_after_packing(self, service: Service) -> None:
        """Damage shows in the hashes."""
        found = service.problems(edited(GOOD, lambda d: d["codec"].update(title="Better"), seal=False))
        assert "submission.json: content_sha256" in [problem["path"] for problem in found]


ROWS: dict[str, tuple[Callable[[list[ClipRow]], object], str]] = {
    "out of range": (lambda r: replaced(r, 0, metrics={**r[0].metrics, "pesq": ok(5.1)}), "mini/clip000: pesq"),
    "twice": (lambda r: replaced(r, 1, clip=r[0].clip), "mini/mini/clip000"),
    "not in the manifest": (lambda r: replaced(r, 0, clip="mini/invented"), "mini/mini/invented"),
    "another category": (lambda r: replaced(r, 0, category="music"), "mini/mini/clip000"),
    "negative bits": (lambda r: replaced(r, 0, bits=-1), "clip000: bits"),
    "a length that no database holds": (lambda r: replaced(r, 0, samples=2**40), "clip000: samples"),
    "a lag longer than the clip": (lambda r: replaced(r, 0, lag_samples=10**6), "clip000: lag_samples"),
    "other bits than the aggregates": (lambda r: replaced(r, 0, bits=99), "aggregates.datasets.0.bits"),
    "a row too many": (lambda r: r.append(row("mini/extra")), "clips.parquet"),
    "a row too few": (lambda r: r.pop(), "datasets.0.selected"),
    "an error beside a result": (lambda r: replaced(r, 0, error="odd"), "clip000: error"),
}


class TestRows:
    """``clips.parquet``."""

    @pytest.mark.sample(4)
    @pytest.mark.parametrize("name", ROWS)
    def test_untrue_rows_are_refused_with_the_clip(self, service: Service, name: str) -> None:
        """Each is found though the hashes are right."""
        change, place = ROWS[name]
        found = service.problems(with_rows(GOOD, change))
        assert any(place in problem["path"] for problem in found), found

    def test_many_problems_are_listed_and_counted(self, service: Service, tmp_path: Path) -> None:
        """One of each kind is listed, and the sentence above says how many there are."""
        service.know("many", {f"many/clip{number:03}": "speech" for number in range(180)})
        data = make_file(draw_rows(1, 180, dataset="many"), tmp_path, codec="many_16k")
        answer = service.send(data)
        assert answer.status_code == 422
        (problem,) = answer.json()["problems"]
        assert "and 119 more like it: many/many/clip002, many/many/clip004, " in problem["got"]
        assert answer.json()["detail"] == "the submission has 120 problems, of which one of each kind is listed"


class TestBitrate:
    """A bitrate that the card denies."""

    def long_rows(self, clips: int = CLIPS) -> list[ClipRow]:
        """Twelve clips, four of them ten seconds of speech, at 16 kbps."""
        return [entry.model_copy(update={"samples": 160_000, "bits": 160_000}) for entry in draw_rows(1, clips)]

    def test_of_speech_is_refused_with_both_numbers(self, service: Service, tmp_path: Path) -> None:
        """16 kbps under a card that says 12 within 15 %."""
        data = make_file(self.long_rows(), tmp_path, codec="denied_12k", nominal_kbps=12.0)
        (problem,) = service.problems(data)
        assert problem["path"] == "submission.json: aggregates.datasets.0.kbps"
        assert problem["expected"].startswith("12 kbps within 15%")
        assert problem["got"].startswith("16 kbps on mini (speech")

    def test_that_the_card_explains_is_accepted(self, service: Service, tmp_path: Path) -> None:
        """A card without a tolerance says why, and is believed."""
        note = {"nominal_tolerance": None, "bitrate_note": "variable by design"}
        data = make_file(self.long_rows(), tmp_path, codec="explained_12k", nominal_kbps=12.0, **note)
        assert service.send(data).status_code == 201

    def test_of_short_clips_is_noted_only(self, service: Service, tmp_path: Path) -> None:
        """Four seconds of speech prove nothing."""
        answer = service.send(make_file(draw_rows(1, CLIPS), tmp_path, codec="short_12k", nominal_kbps=12.0))
        assert answer.status_code == 201
        assert any("kbps measured, 12 nominal" in note for note in answer.json()["notes"])

    def test_tokens_that_the_card_denies(self, service: Service, tmp_path: Path) -> None:
        """A token codec sends as many tokens a second as its card says, and says how many."""
        assert service.send(make_file(token_rows(100), tmp_path / "a", codec="tokens_a", **TOKENS)).status_code == 201
        found = service.problems(make_file(token_rows(80), tmp_path / "b", codec="tokens_b", **TOKENS))
        assert [problem["path"] for problem in found] == ["clips.parquet: mini: tokens"]
        assert "80" in found[0]["got"]
        found = service.problems(make_file(token_rows(None), tmp_path / "c", codec="tokens_c", **TOKENS))
        assert "tokens" in found[0]["path"]

    def test_a_block_of_silence_a_clip_is_admitted(self, service: Service, tmp_path: Path) -> None:
        """Half as many tokens again are too many, but not where each clip is filled to a block that the card tells."""
        card = {**TOKENS, "nominal_tolerance": None, "bitrate_note": "silence fills the last block"}
        found = service.problems(make_file(token_rows(150), tmp_path / "a", codec="tokens_d", **card))
        assert [problem["path"] for problem in found] == ["clips.parquet: mini: tokens"]
        blocks = {**card, "block_frames": 25}
        assert service.send(make_file(token_rows(150), tmp_path / "b", codec="tokens_e", **blocks)).status_code == 201

    @pytest.mark.parametrize("latency_ms", [None, 60000, 26.5])
    def test_a_long_wait_is_no_leave_for_tokens(
        self, service: Service, tmp_path: Path, latency_ms: float | None
    ) -> None:
        """However long a sample waits, up to the whole clip: a frame more is admitted beside the tolerance, not two."""
        card = {**TOKENS, "causal": False, "latency_ms": latency_ms}
        card |= {"nominal_tolerance": None, "bitrate_note": "silence fills the last frame"}
        name = f"waits_{latency_ms or 0:g}"
        found = service.problems(make_file(token_rows(119), tmp_path / "a", codec=f"{name}_a", **card))
        assert [problem["path"] for problem in found] == ["clips.parquet: mini: tokens"]
        assert service.send(make_file(token_rows(117), tmp_path / "b", codec=f"{name}_b", **card)).status_code == 201


class TestSamples:
    """Listening samples must play."""

    def test_sound_that_does_not_decode(self, service: Service) -> None:
        """An Opus header with rubbish behind it, listed with its right hash, is refused by name."""
        data = drawn("silent_16k", samples=2)
        members = read_archive(io.BytesIO(data))
        name = "samples/00-reference.ogg"
        members[name] = members[name][:60] + b"x" * 500
        document = json.loads(members["submission.json"])
        document["samples"][0]["reference_sha256"] = hashlib.sha256(members[name]).hexdigest()
        members["submission.json"] = json.dumps(document).encode()
        reseal(members)
        out = io.BytesIO()
        write_archive(out, members)
        (problem,) = service.problems(out.getvalue())
        assert problem["path"] == name
