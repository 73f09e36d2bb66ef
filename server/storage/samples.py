"""Read listening samples from the stored zip: only members that the submission lists, verified by SHA-256."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from codec_superb.pipeline.submission.archive import SAMPLE_LIMIT
from codec_superb.pipeline.submission.schema import Sample
from codec_superb.server.database.models import Submission
from codec_superb.server.errors import NotFound, Refused
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import ready_to_send, submission_path

Side = Literal["reference", "resynthesis"]


def samples_of(submission: Submission) -> Sequence[Sample]:
    """Return the samples that the submission lists; their member names follow the schema's pattern."""
    return tuple(Sample.model_validate(entry) for entry in submission.document.get("samples", ()))


def sample(submission: Submission, number: int) -> Sample:
    """Return the sample with a number, counted from 0. Raises NotFound."""
    listed = samples_of(submission)
    if not 0 <= number < len(listed):
        have = f"samples 0 to {len(listed) - 1}" if listed else "no sample"
        raise NotFound(f"submission {submission.id} has {have}, got {number}")
    return listed[number]


def digest(chosen: Sample, side: Side) -> str:
    """Return the SHA-256 of one sound of the sample, as given in the submission."""
    return chosen.reference_sha256 if side == "reference" else chosen.resynthesis_sha256


def stored_sound(settings: Settings, submission: Submission, chosen: Sample, side: Side) -> bytes:
    """Read one Ogg Opus file of the sample from the submission's file.

    Raises NotFound where the zip or the member is missing, Refused where the member is damaged or has another SHA-256.
    """
    member = chosen.reference if side == "reference" else chosen.resynthesis
    try:
        with (
            ready_to_send(),
            zipfile.ZipFile(submission_path(settings, submission.file_sha256)) as archive,
            archive.open(member) as opened,
        ):
            # one more than allowed: a longer member fails by its hash instead of filling the memory
            content = opened.read(SAMPLE_LIMIT + 1)
    except (FileNotFoundError, KeyError):
        raise NotFound(f"{member} of submission {submission.id} is not stored here") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Refused(f"{member} of submission {submission.id} is damaged: {error}") from error
    if sha256(content).hexdigest() != digest(chosen, side):
        raise Refused(f"{member} of submission {submission.id} is not the file whose SHA-256 the submission gives")
    return content
