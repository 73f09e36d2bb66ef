"""Libri2Mix: ``wav16k/<mode>/test/mix_both/*.wav`` and ``wav16k/<mode>/metadata/mixture_test_mix_both.csv``.

The publisher's script generates the modes ``max`` (length of the longer utterance) and ``min``; a user may have one or
both. The first of the manifest's ``modes`` that is present is used, and the report names it.
"""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate, take_listed
from codec_superb.data_manifests.indexers.tables import read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

TABLE = "metadata/mixture_test_mix_both.csv"
COLUMNS = ("mixture_ID", "length")


def find(request: IndexRequest) -> Listing:
    """List the noisy two-speaker mixtures of the test set with both speakers and both LibriSpeech utterances."""
    modes = request.options.get("modes", ("max", "min"))
    names = modes if isinstance(modes, tuple) else (str(modes),)
    markers = tuple(f"wav16k/{mode}/{TABLE}" for mode in names)
    base = locate(request.root, markers, ("Libri2Mix",))
    mode = next(name for name in names if (base / "wav16k" / name / TABLE).is_file())
    folder = base / "wav16k" / mode
    listing = Listing(base, notes=[f"the mode {mode} was taken"])
    take_listed(listing, folder / "test" / "mix_both", _labels(folder / TABLE, mode))
    return listing


def _labels(table: Path, mode: str) -> dict[str, ManifestLabels]:
    labels: dict[str, ManifestLabels] = {}
    for number, row in read_rows(table, COLUMNS):
        mixture = row["mixture_ID"]
        # A mixture is called after its two utterances, SPEAKER-CHAPTER-NUMBER each.
        sources = mixture.split("_")
        if len(sources) != 2 or f"{mixture}.wav" in labels:  # noqa: PLR2004 - two speakers
            why = "is given twice" if f"{mixture}.wav" in labels else "is not two LibriSpeech utterances"
            raise LayoutError(f"{table} line {number}: the mixture {mixture!r} {why}")
        speakers = "+".join(source.split("-")[0] for source in sources)
        extra = {"mode": mode, "source_1": sources[0], "source_2": sources[1]}
        labels[f"{mixture}.wav"] = ManifestLabels(language="en", speaker=speakers, extra=extra)
    return labels
