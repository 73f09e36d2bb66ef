"""File names described by their manifest: RAVDESS."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree


def build(tree: Tree) -> None:
    """Lay out two recordings, a song, and a file with an emotion that there is not."""
    tree.audio("Actor_01/03-01-05-02-01-01-01.wav", "Actor_24/03-01-08-01-02-02-24.wav")
    tree.audio("Actor_01/03-02-05-02-01-01-01.wav", "Actor_01/03-01-09-02-01-01-01.wav")


CASE = Case(
    "ravdess",
    build,
    clips=("03-01-05-02-01-01-01", "03-01-08-01-02-02-24"),
    labels=(
        "03-01-05-02-01-01-01",
        {
            "text": "Kids are talking by the door",
            "speaker": "01",
            "emotion": "angry",
            "extra": {"gender": "male", "intensity": "strong", "repetition": "01"},
        },
    ),
    extra=("Actor_01/03-01-09-02-01-01-01.wav", "Actor_01/03-02-05-02-01-01-01.wav"),
)
