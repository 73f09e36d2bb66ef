"""Results of frozen encoders on the board: submitted codecs, and records as ``xares run --json`` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session
from support.server.board import Probed, make_submission

from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.applications.xares.configuration import configurations, tracks
from codec_superb.applications.xares.result import EncoderRate, Heard, Reading, TrainedDecoder, XaresResult
from codec_superb.metrics.results import Score

LANGUAGE = "und_xares_language_accuracy_pct"
SOUND = "und_xares_sound_accuracy_pct"
UNREAD = "und_xares_sound_unparsed_pct"
WHISPER, MEL = "faster-whisper-frames:tiny.en", "log-mel-frames"
READER = "decoder tiny (tiny-llama-bytes), track offline"
PLACES: Mapping[str, tuple[str, str]] = {
    LANGUAGE: ("und_xares_language", "phone_prompts"),
    SOUND: ("und_xares_sound", "mini"),
    UNREAD: ("und_xares_sound", "mini"),
}
CODEC2 = (
    Heard(codec="codec2_3200", title="Codec2 3200", family="codec2", kbps=3.2),
    Heard(codec="codec2_700", title="Codec2 700", family="codec2", kbps=0.7),
)
LYRA = Heard(codec="lyra_3.2k", title="Lyra 3.2k", family="lyra")


def reading(
    figure: str, seeds: Sequence[float], heard: Heard | None = None, decoding: Any = "greedy", failed: int = 0
) -> Reading:
    """Return one figure whose interval is 3 % to each side."""
    task, dataset = PLACES[figure]
    first = seeds[0]
    return Reading(
        task=task, version=PROBES[task].version, figure=figure, dataset=dataset, heard=heard, decoding=decoding,
        by_seed=dict(zip((42, 1, 2), seeds, strict=False)), n=150 - failed, failed=failed,
        clips=Score(value=first, low=max(0.0, first - 3), high=min(100.0, first + 3)),
    )  # fmt: skip


def make_record(figures: Sequence[Reading], **changed: Any) -> XaresResult:
    """Return the record of an encoder on the offline track."""
    said: dict[str, Any] = {
        "encoder": WHISPER, "encoder_sha256": "ab" * 32, "codec": None,
        "rate": EncoderRate(frames_per_s=50.0, numbers_per_s=19_200.0), "track": "offline",
        "track_sha256": tracks()["offline"].sha256, "decoder": "tiny",
        "configuration_sha256": configurations()["tiny"].sha256, "language_model": "tiny-llama-bytes",
        "language_model_sha256": "", "mode": "references", "random": False,
        "decoders": tuple(TrainedDecoder(seed=seed, key="0123456789abcdef") for seed in (42, 1, 2)),
        "figures": tuple(figures),
    }  # fmt: skip
    return XaresResult(**{**said, **changed})


def make_records() -> list[XaresResult]:
    """Return the figures of the guide: two encoders, a codec as encoder, matched training and a control."""
    whisper = [
        reading(LANGUAGE, (99.3, 100.0, 100.0)), reading(SOUND, (100.0, 100.0, 98.1)),
        reading(LANGUAGE, (96.7, 94.0, 98.0), CODEC2[0]), reading(SOUND, (57.7, 51.9, 63.5), CODEC2[0]),
        reading(LANGUAGE, (74.7, 68.7, 68.7), CODEC2[1], failed=3),
        reading(LANGUAGE, (75.3, 69.3, 69.3), CODEC2[1], "constrained", failed=3),
        reading(UNREAD, (36.5, 34.6, 34.9), CODEC2[0]),
    ]  # fmt: skip
    mel = [reading(LANGUAGE, (98.0, 100.0, 99.3)), reading(SOUND, (96.2, 98.1, 100.0))]
    lyra = [reading(LANGUAGE, (98.7, 98.0, 98.5)), reading(SOUND, (100.0, 100.0, 100.0))]
    return [
        make_record(whisper),
        make_record(mel, encoder=MEL, rate=EncoderRate(frames_per_s=100.0, numbers_per_s=8_000.0)),
        make_record(
            lyra, encoder="codec-frames:lyra_3.2k", codec=LYRA,
            rate=EncoderRate(frames_per_s=50.0, numbers_per_s=3_200.0, bits_per_s=3_200.0),
        ),
        make_record([reading(LANGUAGE, (90.0, 91.0, 92.0), CODEC2[1])], mode="matched codec2_700"),
        make_record([reading(LANGUAGE, (26.7, 22.0, 18.0))], mode="shuffled labels"),
    ]  # fmt: skip


class _Read(Probed):
    """A figure that a trained decoder answered."""

    def info(self) -> ProbeInfo:
        """Say which decoder, and what it heard."""
        said = {
            "track": "offline", "decoder": "tiny", "seed": 42, "mode": "references", "decoding": "greedy",
            "encoder_hop_s": 0.02, "encoder_output_dim": 384, "encoder_sha256": "ab" * 32,
        }  # fmt: skip
        return super().info().model_copy(update={"settings": said})


def make_xares_codecs(session: Session) -> None:
    """Store two codecs heard by a decoder on Whisper's frames, one of them by neighbours too, and one without."""
    spec = f"xares:{WHISPER}+tiny-llama-bytes"
    datasets = {"phone_prompts": ("speech",)}
    for codec, kbps, value in (("opus_6k", 6.0, 98.9), ("amrnb_475", 4.75, 93.0)):
        figures = [_Read(LANGUAGE, value, 99.3, "phone_prompts", spec)]
        if codec == "opus_6k":
            figures.append(Probed("xares_knn_language_accuracy_pct", 88.0, 91.0, "phone_prompts", WHISPER))
        make_submission(session, codec, kbps, datasets=datasets, applications=figures)
    make_submission(session, "mp3_64k", 64.0, datasets=datasets)
