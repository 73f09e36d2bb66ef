"""Descriptions of listening samples for the codec's page, and their spectrograms as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlalchemy.orm import Session

from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.server.codecs import repository
from codec_superb.server.codecs.picture import difference_picture, level_picture
from codec_superb.server.codecs.spectrogram import NotDecodable, decode, levels
from codec_superb.server.database.models import Submission
from codec_superb.server.datasets.credits import credited
from codec_superb.server.errors import Refused
from codec_superb.server.settings import Settings
from codec_superb.server.storage.clip_blocks import lengths
from codec_superb.server.storage.samples import stored_sound
from codec_superb.web.site.codec.view import SampleView

Picture = Literal["reference", "resynthesis", "difference"]


def sample_views(session: Session, submission: Submission) -> list[SampleView]:
    """Describe the samples of a submission, with the axes of their spectrograms."""
    listed = [Sample.model_validate(entry) for entry in credited(session, submission.document)["samples"]]
    known = {name: _lengths(session, submission, name, listed) for name in {entry.dataset for entry in listed}}
    views = []
    for number, entry in enumerate(listed):
        samples, rate = known[entry.dataset].get(entry.clip, (round(SECONDS * OPUS_RATE), OPUS_RATE))
        views.append(
            SampleView(
                number, entry.clip, entry.dataset, entry.category, entry.licence, entry.attribution,
                seconds=min(samples / rate, SECONDS), highest=_highest(rate),
            )
        )  # fmt: skip
    return views


def pictures(session: Session, settings: Settings, submission: Submission, chosen: Sample) -> dict[Picture, bytes]:
    """Draw the spectrograms of a sample: both sounds on one scale, and their difference.

    Raises Refused for a sound that cannot be decoded, and what
    :func:`~codec_superb.server.storage.samples.stored_sound` does.
    """
    known = _lengths(session, submission, chosen.dataset, [chosen])
    _, rate = known.get(chosen.clip, (0, OPUS_RATE))
    try:
        first = decode(stored_sound(settings, submission, chosen, "reference"))
        second = decode(stored_sound(settings, submission, chosen, "resynthesis"))
    except NotDecodable as error:
        raise Refused(f"a sound of sample {chosen.clip!r} cannot be shown: {error}") from error
    reference, resynthesis = levels(first, second, _highest(rate))
    return {
        "reference": level_picture(reference),
        "resynthesis": level_picture(resynthesis),
        "difference": difference_picture(reference, resynthesis),
    }


def _highest(rate: int) -> int:
    """Choose the frequency at the top: the highest one that the clip can hold."""
    return min(rate, OPUS_RATE) // 2


def _lengths(
    session: Session, submission: Submission, dataset: str, listed: Sequence[Sample]
) -> dict[str, tuple[int, int]]:
    block = repository.clip_block(session, submission.id, dataset)
    return {} if block is None else dict(lengths(block, [entry.clip for entry in listed if entry.dataset == dataset]))
