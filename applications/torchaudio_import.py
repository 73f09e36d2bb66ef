"""Make ``import torchaudio`` work beside a torch that its compiled libraries do not fit; errors are those of probes."""

from __future__ import annotations

from codec_superb.applications.errors import MissingPackage
from codec_superb.base_codec import torchaudio_import
from codec_superb.base_codec.errors import MissingDependency


def import_torchaudio() -> bool:
    """Import torchaudio as :func:`codec_superb.base_codec.torchaudio_import.import_torchaudio` does.

    Returns whether its compiled libraries are there. Raises MissingPackage with what to install.
    """
    try:
        return torchaudio_import.import_torchaudio()
    except MissingDependency as error:
        raise MissingPackage(str(error)) from error
