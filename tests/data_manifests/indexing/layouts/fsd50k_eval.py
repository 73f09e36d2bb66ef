"""FSD50K without its development set, which MSEB does not read."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree


def build(tree: Tree) -> None:
    """Lay out the evaluation set and the vocabulary."""
    rows = [(37199, "Rain,Water", "/m/06mb1,/m/0838f"), (37200, "Rain", "/m/06mb1")]
    tree.table("FSD50K.ground_truth/eval.csv", ("fname", "labels", "mids"), *rows)
    tree.text("FSD50K.ground_truth/vocabulary.csv", "0,Rain,/m/06mb1\n1,Water,/m/0838f\n")
    tree.audio("FSD50K.eval_audio/37199.wav", "FSD50K.dev_audio/64760.wav")


CASE = Case(
    "fsd50k_eval",
    build,
    clips=("eval/37199",),
    labels=("eval/37199", {"events": ("Rain", "Water"), "extra": {"split": "test"}}),
    missing=("eval/37200",),
    notes=("FSD50K.metadata of eval is not there",),
)
