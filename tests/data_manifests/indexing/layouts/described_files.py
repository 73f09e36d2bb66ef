"""Tables described by their manifest: Clotho-AQA, whose questions have answers of three people each."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree


def build(tree: Tree) -> None:
    """Lay out one question of three rows, another of the same sound, and one whose sound is not there."""
    tree.audio("audio_files/rain on a roof.wav")
    rows = [("rain on a roof.wav", "Is it raining?", answer, "yes") for answer in ("yes", "no", "yes")]
    rows += [("rain on a roof.wav", "What is it, then?", "rain", "yes"), ("gone.wav", "Is it?", "no", "no")]
    tree.table("clotho_aqa_test.csv", ("file_name", "QuestionText", "answer", "confidence"), *rows)


CASE = Case(
    "clotho_aqa",
    build,
    clips=("rain on a roof/878b42a1", "rain on a roof/9e668c33"),
    labels=("rain on a roof/878b42a1", {"question": "Is it raining?", "answers": ("yes", "no"), "language": "en"}),
    missing=("gone/ecde6938",),
)
