"""The row of ``tokens.contents``. Imports no packages, like the table."""

from __future__ import annotations

from collections.abc import Iterator

from codec_superb.applications.probe import Field, Probe, ProbeMetric
from codec_superb.applications.tokens.rows import OWN

_HERE = "codec_superb.applications.token_contents"
_FIGURES = "codec_superb.applications.tokens.figures"
KINDS = {"phone": "phones", "speaker": "speakers", "pitch": "pitch"}
"""Labels of frames, and what they are called."""
_PLACES = {"1": "first codebook", "all": "mean of the codebooks"}


def _figure(key: str, words: str, name: str, definition: str, *, higher: bool = True) -> ProbeMetric:
    # of errors and distances the reference's side, where nothing is lost, has none
    target = f"{_FIGURES}:{'percentage' if higher else 'edit_rate'}"
    return ProbeMetric(f"tokens_{key}_pct", f"Tokens: {words}", "%", higher, 0.0, 100.0, 1, definition, target, name)


def _figures() -> Iterator[ProbeMetric]:
    for kind, called in KINDS.items():
        for book, place in _PLACES.items():
            end = "" if book == "1" else "_all"
            yield _figure(
                f"{kind}_pnmi{end}",
                f"{called} told, {place}",
                f"mi:{kind}:{book}",
                f"Mutual information of tokens and {called} over the entropy of the {called} (PNMI), {place}.",
            )
        yield _figure(
            f"{kind}_control",
            f"{called} told by chance, first codebook",
            f"control:{kind}:1",
            f"The same of {called} turned in a circle by a drawn number of frames: what little sound seems to tell.",
            higher=False,
        )
    yield _figure(
        "phone_nmi",
        "normalised mutual information with phones, first codebook",
        "nmi:phone:1",
        "Mutual information over the mean of both entropies.",
    )
    yield _figure(
        "phone_purity",
        "phone purity, first codebook",
        "pure:phone:1",
        "Frames whose phone is the most frequent one of their token.",
    )
    yield _figure(
        "cluster_purity",
        "cluster purity, first codebook",
        "clustered:phone:1",
        "Frames whose token is the most frequent one of their phone.",
    )
    for mode in ("within", "across"):
        yield _figure(
            f"abx_{mode}",
            f"ABX errors on phones {mode} speakers",
            f"abx:{mode}",
            "Phones that are nearer to one of another kind than to one of their own, by warped tokens; chance is 50.",
            higher=False,
        )
    yield _figure(
        "voices",
        "one sentence by two voices",
        "edit:voices",
        "Edits between the first codebook's tokens of one text by two speakers over the longer of them.",
        higher=False,
    )
    yield _figure(
        "sentences",
        "two sentences by two voices",
        "edit:sentences",
        "The same of different texts by the same two speakers: what nothing in common gives.",
        higher=False,
    )


def contents_probes() -> tuple[Probe, ...]:
    """Return the row; the codec of the run itself answers."""
    return (
        Probe(
            key="tokens_contents",
            label="Contents of tokens",
            needs=(),
            categories=("speech",),
            shared=(Field("counts", 0, whole=True),),
            sided=(),
            pairs="counts",
            metrics=tuple(_figures()),
            version="1",
            paper=(
                "purity and PNMI: HuBERT, arXiv:2106.07447; ABX: Schatz et al., Interspeech 2013, in any context: "
                "arXiv:2210.15775"
            ),
            backend="codec-contents",
            scorer=f"{_HERE}.scoring:score",
            takes=("contents",),
            group="contents",
            primary="tokens_phone_pnmi_pct",
            options=OWN,
            of_codec=("aligned_clips",),
        ),
    )
