"""A submission is run again: an honest file agrees to the last bit, and each way of forging it is found."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pipeline.stats import row
from support.pipeline.submissions import reseal
from support.pipeline.verified import CODEC, Change, forged, packed, raised, speech_run

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.table import PROBES
from codec_superb.base_codec.card import Isolation, SystemNeed, Weights
from codec_superb.base_codec.options import CodecOptions
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.metrics.table import Category
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission import samples
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.samples import OPUS_RATE, decoded, ogg_opus
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.pipeline.verification.again import CannotRun, Rerun, _spec_of, is_plain_backend
from codec_superb.pipeline.verification.attestation import AttestationError
from codec_superb.pipeline.verification.compare import Change as MeanChange
from codec_superb.pipeline.verification.compare import Compared
from codec_superb.pipeline.verification.draw import SHARE, clips_needed
from codec_superb.pipeline.verification.sounds import Sound
from codec_superb.pipeline.verification.statement import ClipVerdict, Statement
from codec_superb.pipeline.verification.tolerances import OTHER_SOUND
from codec_superb.pipeline.verification.verify import Asked, _drifts, check_of_file, verify
from codec_superb.pipeline.workers.executor import Executor

CLIPS = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, pool: Executor) -> RunFolder:
    """Run 40 clips of synthetic speech."""
    return speech_run(tmp_path_factory.mktemp("honest"), CLIPS, pool)


def outcome(file: Path, again: Rerun, pool: Executor, clips: int | None = 0) -> Statement:
    """Verify a file with a nonce of its own."""
    return verify(file, Asked(secrets.token_hex(32), clips), again, pool=pool)


def test_an_honest_file_agrees(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """As many clips as are needed are run, each sounds the same to the last bit, and nothing differs."""
    statement = outcome(packed(run, tmp_path / "out.zip"), again, pool, clips=None)
    assert statement.verdict == "agrees"
    assert statement.differing() == []
    assert len(statement.clips) == clips_needed([CLIPS]) < CLIPS
    assert all(clip.same_sound for clip in statement.clips)
    assert {"bits", "pesq", "mel"} <= set(statement.compared)


def test_one_forged_clip_in_twenty_is_caught(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """PESQ of 5 % of the clips is raised and everything follows from the rows: of 20 nonces nearly all find it.

    36 of 40 clips miss both forged ones once in 130 times; four of 20 do once in 60,000.
    """
    clips = [row.clip for row in run.rows()]
    chosen = clips[:: CLIPS // round(SHARE * CLIPS)]
    file = forged(run, tmp_path / "forged.zip", chosen, raised("pesq", 0.5))
    found = [outcome(file, again, pool, clips=None) for _ in range(20)]
    assert sum(statement.verdict == "agrees" for statement in found) <= 3
    differing = {clip.clip for statement in found for clip in statement.clips if clip.verdict == "differs"}
    assert differing == set(chosen)
    caught = next(statement for statement in found if statement.verdict == "differs")
    assert all("pesq" in line for line in caught.differing())


def _longer(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"samples": 10 * (row.samples or 0)})


def _cheaper(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"bits": (row.bits or 0) * 9 // 10})


def _lagging(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"lag_samples": (row.lag_samples or 0) + 1})


def _clipped(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"clipped_samples": (row.clipped_samples or 0) + 1})


def _left_out(row: ClipRow) -> ClipRow:
    undefined = row.metrics["stoi"].model_copy(update={"status": "undefined", "value": None, "reason": "no speech"})
    return row.model_copy(update={"metrics": row.metrics | {"stoi": undefined}})


def _other_sound(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"resynthesis_sha256": "0" * 64})


@pytest.mark.parametrize(
    ("change", "quantity"),
    [(_longer, "samples"), (_cheaper, "bits"), (_left_out, "stoi"), (_other_sound, "resynthesis_sha256"),
     (raised("mel", -0.01), "mel"), (_lagging, "lag_samples"), (_clipped, "clipped_samples")],
)  # fmt: skip
def test_what_is_forged_is_named(
    run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path, change: Change, quantity: str
) -> None:
    """Padded, cheaper, cherry-picked, of another sound, better by a hundredth: the clip and the quantity are told."""
    clip = next(row.clip for row in run.rows())
    statement = outcome(forged(run, tmp_path / "forged.zip", [clip], change), again, pool)
    assert [(entry.clip, entry.differences[0].quantity) for entry in statement.clips if entry.differences] == [
        (clip, quantity)
    ]
    (line,) = statement.differing()
    assert line.startswith(f"voices, {clip}: {quantity}: ")


def test_claimed_circumstances_buy_nothing(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """Other sound of a deterministic codec differs on any processor; with other libraries nothing can be said."""
    file = _claimed(run, tmp_path / "processor", {"processor": "AMD EPYC 7763"})
    assert outcome(file, again, pool).verdict == "differs"
    for change in (_other_sound, _no_sound):
        file = _claimed(run, tmp_path / change.__name__, {"packages": {"av": "17.0.0"}}, change)
        with pytest.raises(CannotRun, match=f"got 1 of {CLIPS}; the file names another system or other versions"):
            outcome(file, again, pool)


def _no_sound(row: ClipRow) -> ClipRow:
    return row.model_copy(update={"resynthesis_sha256": None})


def _claimed(run: RunFolder, place: Path, circumstances: dict[str, Any], change: Change = _other_sound) -> Path:
    info = run.info()
    copy = RunFolder(place / "voices")
    stamps = tuple(of.model_copy(update=circumstances) for of in info.provenance)
    copy.write_info(info.model_copy(update={"provenance": stamps}))
    first, *others = run.rows()
    copy.write_rows([first, *map(change, others)], list(info.metrics))
    return packed(copy, place / "claimed.zip")


def test_a_library_of_the_system_buys_nothing(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """Whether a codec rounds is read from the card here: a file's own word on its library is compared with nothing."""
    info = run.info()
    system = SystemNeed(kind="library", name="opus", packages={"Debian": "libopus0"})
    copy = RunFolder(tmp_path / "voices")
    copy.write_info(info.model_copy(update={"card": info.card.model_copy(update={"system": system})}))
    first, *others = run.rows()
    copy.write_rows([_other_sound(first), *others], list(info.metrics))
    (line,) = outcome(packed(copy, tmp_path / "system.zip"), again, pool).differing()
    assert line.startswith(f"voices, {first.clip}: resynthesis_sha256: ")


def test_an_attestation_is_of_its_condition_alone(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """The same rows under another condition are another result: the board refuses such a one, and so do we offline."""
    file = packed(run, tmp_path / "out.zip")
    statement = outcome(file, again, pool)
    check_of_file(statement, file)
    lossy = statement.model_copy(update={"condition": parse_condition("loss:10")})
    with pytest.raises(AttestationError, match=r"under loss:10, version 1, of .*, got one under no condition"):
        check_of_file(lossy, file)


def test_a_category_has_means_of_its_own() -> None:
    """A gain in one category is told there, where the mean over all clips hides it; what all tell is told once."""

    def drifting(by: float, categories: Sequence[Category]) -> list[str]:
        rows = {f"c{at}": row(f"c{at}", category=categories[at % len(categories)]) for at in range(60)}
        compared = [
            Compared(
                ClipVerdict(dataset="mini", clip=clip, verdict="agrees", same_sound=False),
                {"mel": MeanChange(5.0, 5.0 + (by if of.category == "speech" else 0.0), 5.0, OTHER_SOUND["mel"])},
            )
            for clip, of in rows.items()
        ]
        return [of.quantity for of in _drifts(compared, rows, [])]

    assert drifting(0.075, ("speech", "music", "audio")) == ["mel, spread of the differences, speech"]
    assert drifting(0.03, ("speech", "music", "audio")) == []
    assert drifting(0.2, ("speech",)) == ["mel"]


def test_another_codec_under_the_name_cannot_be_run(
    run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path
) -> None:
    """A card that is not the catalogue's, a name that is not there, an unknown dataset: nothing is said of the file."""
    own = run.info()
    settings = own.card.model_copy(update={"settings": {"bitrate": 6001}})
    stranger = own.card.model_copy(update={"name": "nobody_knows_me"})
    for number, (card, why) in enumerate([(settings, "settings"), (stranger, "no codec of the catalogue")]):
        copy = RunFolder(tmp_path / str(number) / "voices")
        copy.write_info(own.model_copy(update={"card": card}))
        copy.write_rows(run.rows(), list(own.metrics))
        with pytest.raises(CannotRun, match=why):
            outcome(packed(copy, tmp_path / f"{number}.zip"), again, pool)
    with pytest.raises(CannotRun, match="no dataset of the benchmark"):
        outcome(packed(run, tmp_path / "out.zip"), Rerun(tmp_path / "other"), pool)
    with pytest.raises(CannotRun, match=f"expected the codec {CODEC}"):
        outcome(packed(run, tmp_path / "out.zip"), Rerun(tmp_path / "other", codec="opus_12k"), pool)


def test_what_a_card_names_is_never_run(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """Of a codec that is here the card here counts: a submitted lock, guest and weights are neither opened nor run."""
    evil, trace = tmp_path / "guest.py", tmp_path / "it ran"
    evil.write_text(f"open({str(trace)!r}, 'w')\n")
    named = {
        "isolation": Isolation(lock=str(evil), guest=str(evil)), "requirements": (str(evil),),
        "weights": Weights(source=str(evil)),
    }  # fmt: skip
    own = run.info()
    copy = RunFolder(tmp_path / "voices")
    copy.write_info(own.model_copy(update={"card": own.card.model_copy(update=named)}))
    copy.write_rows(run.rows(), list(own.metrics))
    with suppress(CannotRun):  # that the weights are others is told
        outcome(packed(copy, tmp_path / "named.zip"), again, pool)
    assert not trace.exists()


def test_what_a_file_states_about_code_of_ones_own(run: RunFolder, pool: Executor, tmp_path: Path) -> None:
    """A function has no card: what is packed with one is the submitter's word, and the clips are compared."""
    file = tmp_path / "mine.py"
    file.write_text("def mine(audio, rate):\n    return audio.clip(-0.05, 0.05)\n")
    place = str(run.path.parents[2] / "voices")
    options = CodecOptions(kbps=6.0)
    (made,) = resynthesise(
        [f"{file}:mine"], [place], out=tmp_path / "runs", options=options, category="speech", limit=2, executor=pool
    )
    score([made.path], metrics=["mel"], executor=pool)
    stated = tmp_path / "card.yaml"
    words = "kind: classical\nversion: '1'\nstandard: none\nyear: 2026\ncausal: true\nlatency_ms: 20\n"
    stated.write_text(
        words + "family: clippers\nlicence: MIT\npaper: none yet\nhomepage: https://example.org\nframe_rate: 50\n"
    )
    sent = pack([RunFolder(made.path)], tmp_path / "out.zip", submitter=Submitter(name="Ann"), card=stated)
    again = Rerun(tmp_path / "again", codec=f"{file}:mine", datasets=[place], device="cpu")
    assert outcome(sent, again, pool).verdict == "agrees"


def test_a_file_names_no_code_to_run() -> None:
    """Models of the catalogue by their names, chains of two among them; no path, no repository, no file of Python."""
    assert all(is_plain_backend(row.backend) for row in PROBES.values() if not row.origin)
    assert is_plain_backend("faster-whisper:tiny.en+minilm")
    for named in (  # as results name usual models
        "pocketsphinx:en-us", "visqol:exponential", "visqol:lattice", "ast:ast-finetuned-audioset-10-10-0.4593",
        "utmos:utmos22_strong", "speechbrain:ecapa-voxceleb", "wavlm-sv:wavlm-base-plus-sv",
        "faster-whisper-frames:tiny.en", "cascade", "cascade:yamnet", "codec-frames:mimi_8cb",
        "xares:faster-whisper-frames:tiny.en+tiny-llama-bytes",
    ):  # fmt: skip
        assert is_plain_backend(named), named
    assert is_plain_backend(open_backend("pocketsphinx").prepare().name)
    for usual in {part for of in PROBES.values() if not of.origin for part in of.backend.split("+")}:
        with suppress(ApplicationError, DatasetError):  # its model, or what it learns from, is not here
            assert is_plain_backend(open_backend(usual).prepare().name), usual
    assert _spec_of("faster-whisper-frames:tiny.en") == "faster-whisper-frames"
    # a variant of UTMOS is a path: the usual model runs by the name of the backend alone
    assert _spec_of("utmos:utmos22_strong+minilm") == "utmos+minilm"
    assert _spec_of("visqol:lattice") == "visqol:lattice"
    assert [_spec_of(of) for of in ("cascade", "cascade:yamnet")] == ["cascade", "cascade:yamnet"]
    assert _spec_of("xares:faster-whisper-frames:tiny.en+tiny-llama-bytes") == "tiny"
    for strange in (
        "mine.py:ROW", "./mine.py:ROW", "transformers-asr:/tmp/model", "transformers-asr:owner/repository", "",
        "nobody",
        "pocketsphinx:local:mine", "utmos:./utmos22_strong", "visqol:../x",
        "cascade:mine", "codec-frames:my.py:Mine", "codec-frames:", "mimi_8cb:mimi_8cb",
        "faster-whisper:../x", "faster-whisper:tiny.en+mine.py:ROW", "command", "command:rm", "endpoint:host",
    ):  # fmt: skip
        assert not is_plain_backend(strange), strange


def test_listening_samples_of_another_codec_differ(
    run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path
) -> None:
    """What visitors hear under the badge is the codec's sound, also of clips that are not drawn."""
    file = pack([run], tmp_path / "heard.zip", submitter=Submitter(name="Ann"), samples=2, any_licence=True)
    honest = outcome(file, again, pool, clips=1)
    assert honest.verdict == "agrees"
    check_of_file(honest, file)
    members = read_archive(file)
    document = json.loads(members["submission.json"])
    sample = document["samples"][0]
    members[sample["resynthesis"]] = members[sample["reference"]]
    sample["resynthesis_sha256"] = sample["reference_sha256"]
    _closed(file, members, document)
    with pytest.raises(AttestationError, match="listening samples of which the attestation is, got others"):
        check_of_file(honest, file)
    statement = outcome(file, again, pool, clips=1)
    (line,) = statement.differing()
    assert statement.verdict == "differs"
    assert sample["clip"] in line
    assert "listening sample" in line


@pytest.mark.parametrize(
    ("side", "change", "told"),
    [
        ("reference", lambda sound: sound + _noise(sound), "reference beside {clip}, errors of its coder"),
        ("reference", lambda sound: np.tile(sound, 2), "reference beside {clip}, seconds: "),
        ("reference", lambda sound: sound[: sound.size // 2], "reference beside {clip}, seconds: 0."),
        ("resynthesis", lambda sound: sound[: sound.size // 2], "listening sample of {clip}, seconds: 0."),
    ],
)
def test_a_sample_that_was_changed_differs(
    run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path, side: str, change: Callable[[Sound], Sound], told: str
) -> None:
    """Beside noise 20 dB below the original, which moves no level by 1.5 dB, every codec is heard to advantage."""
    file = pack([run], tmp_path / "heard.zip", submitter=Submitter(name="Ann"), samples=2, any_licence=True)
    members = read_archive(file)
    document = json.loads(members["submission.json"])
    sample = document["samples"][1]
    members[sample[side]] = ogg_opus(change(decoded(members[sample[side]])), OPUS_RATE)
    sample[f"{side}_sha256"] = hashlib.sha256(members[sample[side]]).hexdigest()
    _closed(file, members, document)
    statement = outcome(file, again, pool, clips=1)
    (line,) = statement.differing()
    assert statement.verdict == "differs"
    assert told.format(clip=sample["clip"]) in line


def test_a_sample_within_limits_is_the_submitters(run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path) -> None:
    """By another coder it sounds alike, and so may what somebody made more pleasant: it is not called run again."""
    file = pack([run], tmp_path / "heard.zip", submitter=Submitter(name="Ann"), samples=2, any_licence=True)
    assert not any("listening samples" in line for line in outcome(file, again, pool, clips=1).left_out)
    members = read_archive(file)
    document = json.loads(members["submission.json"])
    sample = document["samples"][0]
    members[sample["resynthesis"]] = ogg_opus(decoded(members[sample["resynthesis"]]), OPUS_RATE)
    sample["resynthesis_sha256"] = hashlib.sha256(members[sample["resynthesis"]]).hexdigest()
    _closed(file, members, document)
    statement = outcome(file, again, pool, clips=1)
    assert statement.verdict == "agrees"
    (line,) = [line for line in statement.left_out if "listening samples" in line]
    assert line == f"{sample['dataset']}, listening samples: 1 of 2 are not as they are made here, held to limits"


def test_a_sample_that_does_not_play_differs(
    run: RunFolder, again: Rerun, pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a sample may hold, for example: the answer says so in place of an error."""
    file = pack([run], tmp_path / "heard.zip", submitter=Submitter(name="Ann"), samples=1, any_licence=True)
    members = read_archive(file)
    document = json.loads(members["submission.json"])
    (sample,) = document["samples"]
    with monkeypatch.context() as longer:
        longer.setattr(samples, "SECONDS", 20.0)
        members[sample["reference"]] = ogg_opus(np.zeros(12 * OPUS_RATE, np.float32), OPUS_RATE)
    sample["reference_sha256"] = hashlib.sha256(members[sample["reference"]]).hexdigest()
    _closed(file, members, document)
    statement = outcome(file, again, pool, clips=1)
    assert statement.verdict == "differs"
    assert f"reference beside {sample['clip']}, seconds: nothing submitted, 0.5" in statement.differing()[0]


def _noise(sound: Sound) -> Sound:
    noise = np.random.default_rng(1).standard_normal(sound.size) * 0.1 * np.sqrt(np.mean(sound**2))
    return noise.astype(np.float32)


def _closed(file: Path, members: dict[str, bytes], document: dict[str, Any]) -> None:
    members["submission.json"] = json.dumps(document).encode()
    reseal(members)
    with file.open("wb") as out:
        write_archive(out, members)
