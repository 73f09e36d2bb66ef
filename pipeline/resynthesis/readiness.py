"""Before the first clip: what selected codecs lack is said, and the environments that they need are built."""

from __future__ import annotations

from collections.abc import Sequence

from codec_superb.base_codec.isolation.environment import ensure_built
from codec_superb.base_codec.isolation.lock import open_lock
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.readiness import check_ready
from codec_superb.base_codec.registry import card as card_of
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.devices import chosen_device
from codec_superb.pipeline.workers.progress import Progress


def make_ready(codecs: Sequence[str], options: CodecOptions, device: str, progress: Progress) -> None:
    """Check packages and weights, then build the missing environments.

    Raises MissingDependency and MissingWeights with a sentence for each thing that any codec lacks, EnvironmentFailed.
    """
    check_ready(codecs, options)
    for codec in codecs:
        if (isolation := card_of(codec).isolation) is not None:
            ensure_built(open_lock(isolation.lock, chosen_device(codec, device)), progress.message)


def is_finished(folder: RunFolder) -> bool:
    """Whether a run has all its rows: it needs neither packages nor weights again."""
    try:
        return folder.has_table() and folder.info().status != "started"
    except RunFolderError:
        return False
