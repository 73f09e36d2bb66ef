"""Tux Paint's stamps: a package file."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree
from support.datasets.package_files import deb
from support.datasets.stamps_package import NAME, stamps_files


def build(tree: Tree) -> None:
    """Put the synthetic package into the folder."""
    (tree.root / NAME).write_bytes(deb(stamps_files(), "gz"))


CASE = Case(
    "stamps",
    build,
    clips=(
        "en/animals/birds/owl",
        "en/animals/mammals/dogs/dog",
        "fr/animals/birds/owl",
        "fr/clothes/cap",
        "fr/clothes/hat",
    ),
    labels=("en/animals/birds/owl", {"text": "An owl.", "language": "en", "extra": {"intent": "birds"}}),
)
