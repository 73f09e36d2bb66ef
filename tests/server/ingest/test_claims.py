"""What a submission may not claim: files of somebody with an ordinary token, through the service, on both databases."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from support.pipeline.stats import card as card_of
from support.pipeline.stats import draw_rows, known_clips, ok, sha, with_audio, write_run
from support.pipeline.submissions import reseal, rewrite
from support.server.ingest import Service, changed_members, make_file

from codec_superb.data_manifests.audio.audio_file import read_audio
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.facts.clips import KnownClip
from codec_superb.pipeline.submission.facts.fingerprint import fingerprint
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.pipeline.submission.schema import CLIPS_NAME, SUBMISSION_NAME, Submission, Submitter
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

CLIPS = 30
UNDEFINED = MetricValue(status="undefined", reason="nothing is voiced in the resynthesis")
Change = Callable[[ClipRow], ClipRow]


def truth(dataset: str) -> list[ClipRow]:
    """Draw rows of clips of one to four seconds, ten of each category, as an honest run has them."""
    rows = []
    for number, row in enumerate(draw_rows(3, CLIPS, dataset=dataset)):
        samples = 16000 + 1600 * number
        times = {"encode_s": samples * (1 + number % 7) * 1e-7, "decode_s": samples * (1 + number % 5) * 1e-7}
        rows.append(row.model_copy(update={"samples": samples, "bits": samples + 7 * number, **times}))
    return rows


def claim(service: Service, folder: Path, codec: str, change: Change, **card: Any) -> Any:
    """Send rows that were changed, on a dataset whose clips the board knows; return the answer."""
    dataset = f"set_of_{codec}"
    rows = truth(dataset)
    # the reference of the last clip leaves one metric without a meaning
    facts = known_clips(rows) | {
        rows[-1].clip: KnownClip(rows[-1].category, 16000, rows[-1].samples, frozenset({"f0corr"}))
    }
    service.know(dataset, facts)
    last = rows[-1].model_copy(update={"metrics": rows[-1].metrics | {"f0corr": UNDEFINED}})
    changed = [change(row) for row in [*rows[:-1], last]]
    return service.send(make_file(changed, folder, codec=codec, **card))


def with_metrics(row: ClipRow, **values: MetricValue) -> ClipRow:
    """Replace metrics of a row."""
    return row.model_copy(update={"metrics": row.metrics | values})


def on_board(service: Service, codec: str) -> bool:
    """Whether visitors see a codec."""
    return codec in service.client.get("/api/v1/leaderboard").text


def refused(answer: Any, *places: str) -> list[dict[str, str]]:
    """Expect a refusal with one problem for each place, which counts the others of its kind."""
    assert answer.status_code == 422, answer.text
    problems: list[dict[str, str]] = answer.json()["problems"]
    for place in places:
        assert sum(problem["path"].endswith(place) for problem in problems) == 1, (place, problems)
    return problems


def test_the_truth_is_on_the_board_at_once(service: Service, tmp_path: Path) -> None:
    """Drawn like an honest run, with one metric undefined by its reference and one by its codec."""

    def honest(row: ClipRow) -> ClipRow:
        return with_metrics(row, f0corr=UNDEFINED) if row.clip.endswith("clip002") else row

    answer = claim(service, tmp_path, "honest_16k", honest)
    assert (answer.status_code, answer.json()["status"]) == (201, "self-reported"), answer.text
    assert any("f0corr undefined on 1 of 10 clips" in note for note in answer.json()["notes"])
    assert on_board(service, "honest_16k")


def test_padded_clips_are_refused(service: Service, tmp_path: Path) -> None:
    """Ten times the samples are a tenth of the bitrate: one problem says so of all clips."""

    def padded(row: ClipRow) -> ClipRow:
        return row.model_copy(update={"samples": 10 * (row.samples or 0)})

    answer = claim(service, tmp_path, "padded_1k6", padded, nominal_kbps=1.6)
    problem = next(p for p in refused(answer, ": samples") if p["path"].endswith(": samples"))
    assert problem["expected"] == "16000, that of the clip"
    assert problem["got"].startswith("160000; and 29 more like it: set_of_padded_1k6/")


def test_impossible_rates_and_bits_are_refused(service: Service, tmp_path: Path) -> None:
    """A clip of one sample a second stretches every chart, and so do more bits than raw sound has, or none."""
    rows = truth("real")
    service.know("real", {name: clip._replace(sound=b"heard") for name, clip in known_clips(rows).items()})
    data = make_file(rows, tmp_path, codec="impossible_16k")
    tiny = {"samples": 1, "sampling_rate": 1}
    problems = refused(service.send(_with_rows(data, **tiny)), ": samples")
    assert sum(problem["path"].endswith(": sampling_rate") for problem in problems) == 2  # of any clip, of this clip
    refused(service.send(_with_rows(data, bits=10**12)), ": bits")
    refused(service.send(_with_rows(data, bits=0)), ": bits")
    own = make_file(rows, tmp_path / "own", codec="own_16k", about={"location": "/somewhere/real"})
    (problem,) = (p for p in refused(service.send(_with_rows(own, **tiny))) if p["path"].endswith(": sampling_rate"))
    assert problem["expected"] == "1000 to 1000000 Hz"


def test_perfection_is_held(service: Service, tmp_path: Path) -> None:
    """All metrics at their best at 16 kbps: a moderator looks first, visitors see nothing, the receipt says why."""
    best = {"stft": ok(0.0), "mel": ok(0.0), "pesq": ok(4.6438885), "stoi": ok(1.0)}
    answer = claim(service, tmp_path, "perfect_16k", lambda row: with_metrics(row, **best))
    receipt = answer.json()
    assert (answer.status_code, receipt["status"]) == (201, "held"), answer.text
    held = [warning for warning in receipt["warnings"] if warning["holds"]]
    assert {warning["kind"] for warning in held} == {"unusual", "exact", "too good"}
    assert any("mel, pesq, stft, stoi at the best value on every clip" in warning["text"] for warning in held)
    assert not on_board(service, "perfect_16k")
    page = service.client.post(
        "/submit",
        data={"token": service.account("ann")["authorization"].removeprefix("Bearer ")},
        files={"file": ("a.zip", next(tmp_path.glob("*.zip")).read_bytes())},
    ).text
    assert "perfect_16k, version 1: held" in page
    assert "waits for a moderator" in page
    assert "only a lossless codec has that" in page


def test_chosen_clips_are_refused_or_held(service: Service, tmp_path: Path) -> None:
    """All but four clips undefined: refused where the reference decides alone, else held."""
    worst = {f"clip{number:03}" for number in range(CLIPS) if number // 3 > 3}

    def chosen(*keys: str) -> Change:
        hidden = dict.fromkeys(keys, UNDEFINED)
        return lambda row: with_metrics(row, **hidden) if row.clip.rpartition("/")[2] in worst else row

    answer = claim(service, tmp_path / "1", "chosen_16k", chosen("stft", "mel", "stoi", "pesq", "f0corr"))
    problems = refused(answer, ": stft_status", ": mel_status", ": stoi_status")
    assert len(problems) == 3
    answer = claim(service, tmp_path / "2", "voiceless_16k", chosen("pesq", "f0corr"))
    receipt = answer.json()
    assert (answer.status_code, receipt["status"]) == (201, "held"), answer.text
    assert any(
        "pesq undefined on 6 of 10 clips whose reference defines it" in each["text"] for each in receipt["warnings"]
    )
    assert not on_board(service, "voiceless_16k")
    # the damage may have left them so, and what waits without a condition has no other one wait
    lost = claim(
        service, tmp_path / "3", "voiceless_16k", chosen("pesq", "f0corr"), condition=parse_condition("loss:10")
    )
    assert lost.json()["status"] == "self-reported", lost.text


def test_a_value_where_there_can_be_none_is_refused(service: Service, tmp_path: Path) -> None:
    """The reference has no pitch: nobody has a correlation with it."""
    answer = claim(service, tmp_path, "pitched_16k", lambda row: with_metrics(row, f0corr=ok(0.9)))
    refused(answer, ": f0corr")


CREATED = (
    f"2026-01-02T03:04:05.{'1' * 300}Z", "2026-02-30T00:00:00Z", "1999-12-31T23:59:59Z", "2199-01-01T00:00:00Z",
)  # fmt: skip


def test_moments_that_were_not(service: Service, tmp_path: Path) -> None:
    """Too many digits, no such day, before there was such a file, after tomorrow: no database is asked."""
    data = make_file(draw_rows(3, 12), tmp_path, codec="timely_16k")
    document = json.loads(read_archive(tmp_path / "out.zip")[SUBMISSION_NAME])
    for created in CREATED:
        changed = json.dumps(document | {"created": created}).encode()
        refused(service.send(changed_members(data, document=changed)), "created")


def test_numbers_and_texts_have_an_end(service: Service, tmp_path: Path) -> None:
    """An integer of 4,001 digits is refused as it is read, settings of 2 MB as they are described."""
    data = make_file(draw_rows(3, 12), tmp_path, codec="endless_16k")
    document = json.loads(read_archive(tmp_path / "out.zip")[SUBMISSION_NAME])
    document["codec"]["settings"] = {"n": 10**4000}
    (problem,) = refused(service.send(changed_members(data, document=json.dumps(document).encode())))
    assert "whole numbers of at most 2^53, got 1000" in problem["got"]
    document["codec"]["settings"] = {f"s{number}": sha(str(number)) * 60 for number in range(500)}
    sealed = Submission.model_validate_json(json.dumps(document)).seal().to_json()
    refused(service.send(changed_members(data, document=sealed)), "submission.json: codec")


def test_references_are_those_of_the_dataset(service: Service, tmp_path: Path) -> None:
    """Samples are one mono stream each with nothing behind it, as long as their clip; the reference is its sound."""
    rows = [row.model_copy(update={"samples": 8000}) for row in draw_rows(5, 6, dataset="heard")]
    run = write_run(tmp_path, rows, card=card_of("heard_16k", nominal_kbps=32.0))
    dataset = with_audio(run, rows, tmp_path / "audio")
    facts = {}
    for row in rows:
        audio, rate = read_audio(dataset.clip(row.clip).path)
        facts[row.clip] = KnownClip(row.category, rate, audio.shape[1], frozenset(), fingerprint(audio[0], rate))
    service.know("heard", facts)
    named = type(dataset)(dataset.clips, name="heard", manifest_hash=run.info().dataset.manifest_hash)
    out = pack([run], tmp_path / "a.zip", submitter=Submitter(name="Ann"), samples=2, datasets={"heard": named})
    members = read_archive(out)
    ours, other = (members[f"samples/0{number}-reference.ogg"] for number in range(2))
    noise = np.random.default_rng(0).normal(0, 0.1, 8000).astype(np.float32)
    rich = ogg_opus(noise, 16000, 256)
    stereo = bytearray(ours)
    stereo[37] = 2
    for name, sound, told in (
        ("reference", ogg_opus(noise, 16000), "sound that differs by"),
        ("resynthesis", ogg_opus(noise[:4000], 16000), "0.25"), ("resynthesis", ours + b"more", "4 bytes behind"),
        ("resynthesis", ours + other, "bytes behind its stream"), ("reference", bytes(stereo), "2 channels"),
        ("reference", ours[:-1], "no whole last page"), ("resynthesis", rich, f"{len(rich):,}"),
    ):  # fmt: skip
        (problem,) = refused(service.send(_with_sample(out, f"samples/00-{name}.ogg", sound)), f"samples/00-{name}.ogg")
        assert told in problem["got"]
    assert service.send(out.read_bytes()).status_code == 201


def _with_sample(file: Path, name: str, sound: bytes) -> bytes:
    """Replace a sample, with its hash."""
    members = read_archive(file)
    document = Submission.model_validate_json(members[SUBMISSION_NAME])
    field = f"{Path(name).stem.partition('-')[2]}_sha256"
    first = document.samples[0].model_copy(update={field: hashlib.sha256(sound).hexdigest()})
    sealed = document.model_copy(update={"samples": (first, *document.samples[1:])}).seal()
    out = io.BytesIO()
    write_archive(out, members | {name: sound, SUBMISSION_NAME: sealed.to_json()})
    return out.getvalue()


def _with_rows(data: bytes, **fields: Any) -> bytes:
    """Change every row and seal the document over them, as somebody would who edits on purpose."""

    def edit(members: dict[str, bytes]) -> None:
        table = open_table(io.BytesIO(members[CLIPS_NAME]))
        out = io.BytesIO()
        write_table(out, [row.model_copy(update=fields) for row in table], table.metrics, table.probes)
        members[CLIPS_NAME] = out.getvalue()
        reseal(members)

    return rewrite(io.BytesIO(data), edit).getvalue()
