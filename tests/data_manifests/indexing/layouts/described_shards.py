"""WebDataset shards described by their manifest: LibriCount's test shard, with a sound that is none and one unnamed."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree
from support.shards import flac, write_shard


def build(tree: Tree) -> None:
    """Lay out the one shard; the number of speakers is a number there."""
    samples = [
        ("one", flac(0.05), {"num_speakers": 3}), ("two", b"no sound", {"num_speakers": 0}), ("none", flac(0.05), {}),
    ]  # fmt: skip
    write_shard(tree.root / "LibriCount" / "test" / "libricount_fold04.tar.gz", samples)


CASE = Case(
    "xares_libricount",
    build,
    clips=("libricount_fold04/one",),
    labels=("libricount_fold04/one", {"answers": ("3",)}),
    missing=("libricount_fold04.tar.gz two", "libricount_fold04.tar.gz none"),
    notes=("1 times a sound that cannot be read", "1 times JSON without a text", "is no audio", "none of num_speakers"),
)
