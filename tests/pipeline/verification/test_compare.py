"""What may differ where the sound does, and what may not: clips, means, definedness, probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.pipeline.stats import card, draw_rows, failed, ok, row, stamp

from codec_superb.applications.table import PROBES
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ProbeValue
from codec_superb.pipeline.verification.compare import (
    Change,
    Compared,
    FailedHere,
    MachineFailed,
    compare_clip,
    drifts,
)
from codec_superb.pipeline.verification.statement import DIFFERENCES
from codec_superb.pipeline.verification.tolerances import OTHER_SOUND
from codec_superb.pipeline.verification.verify import is_exact

ONE, OTHER = "1" * 64, "2" * 64


def moved(there: ClipRow, by: float, sound: str = OTHER, **fields: Any) -> ClipRow:
    """Return the row with another PESQ."""
    value = there.metrics["pesq"].value
    assert value is not None
    metrics = there.metrics | {"pesq": ok(value + by)}
    return there.model_copy(update={"metrics": metrics, "resynthesis_sha256": sound, **fields})


def quantities(there: ClipRow, here: ClipRow, *, exact: bool = False) -> list[str]:
    """Name what differs."""
    return [entry.quantity for entry in compare_clip(there, here, exact=exact).verdict.differences]


@pytest.fixture
def clips() -> list[ClipRow]:
    """Give 30 submitted rows."""
    return [entry.model_copy(update={"resynthesis_sha256": ONE}) for entry in draw_rows(1, 30)]


def test_a_clip_of_other_sound_may_be_off(clips: Sequence[ClipRow]) -> None:
    """By 20 % of PESQ's scale and 5 % of the bits, no more; of the same sound by PESQ's own tolerance and no bit."""
    there = clips[0]
    assert quantities(there, moved(there, 0.99)) == []
    assert quantities(there, moved(there, 1.01)) == ["pesq"]
    assert quantities(there, moved(there, 1.01), exact=True) == ["resynthesis_sha256", "pesq"]
    assert there.bits is not None
    assert quantities(there, moved(there, 0, bits=round(1.04 * there.bits))) == []
    assert quantities(there, moved(there, 0, bits=round(1.06 * there.bits))) == ["bits"]
    own = METRICS["pesq"].tolerance
    assert quantities(there, moved(there, 0.9 * own, ONE)) == []
    assert quantities(there, moved(there, 1.1 * own, ONE)) == ["pesq"]
    assert quantities(there, moved(there, 0, ONE, bits=there.bits + 1)) == ["bits"]


def test_means_of_other_sound_tell_a_raised_figure_from_rounding(clips: Sequence[ClipRow]) -> None:
    """A seventh more PESQ everywhere is found, though each clip may be off by more; rounding of as much is not."""
    raised = [compare_clip(there, moved(there, -0.15), exact=False) for there in clips]
    assert all(entry.verdict.verdict == "agrees" for entry in raised)
    (drift,) = drifts([of.changes for of in raised])
    assert drift.quantity == "pesq"
    assert drift.allowed == pytest.approx(5 * (0.01 + 2 * 0.035 / 30**0.5))
    noise = np.random.default_rng(0).normal(0, 0.08, len(clips))
    assert (
        drifts(
            [compare_clip(there, moved(there, by), exact=False).changes for there, by in zip(clips, noise, strict=True)]
        )
        == ()
    )
    assert drifts([compare_clip(there, moved(there, 0, ONE), exact=False).changes for there in clips]) == ()


@pytest.mark.parametrize("number", range(1, 10))
def test_few_clips_of_other_sound_gain_less_than_many(clips: Sequence[ClipRow], number: int) -> None:
    """One may move by sqrt(10) spreads, 0.553 PESQ, several by as much together: not each by what one clip may."""

    def raised(by: float) -> list[str]:
        moves = [compare_clip(there, moved(there, -by), exact=False) for there in clips[:number]]
        assert all(entry.verdict.verdict == "agrees" for entry in moves)
        unmoved = [compare_clip(there, moved(there, 0, ONE), exact=False).changes for there in clips[number:]]
        return [of.quantity for of in drifts([*(entry.changes for entry in moves), *unmoved])]

    by_spread, by_mean = (10 / number) ** 0.5 * 5 * 0.035, 10 / number * 5 * (0.01 + 2 * 0.035 / 10**0.5)
    each = min(by_spread, by_mean)
    assert raised(0.99 * each) == []
    assert raised(1.01 * each) == ["pesq" if by_mean < by_spread else "pesq, spread of the differences"]
    assert raised(0.95) == (["pesq"] if number > 1 else ["pesq, spread of the differences"])


def answers(*, there: Sequence[float], here: Sequence[float], other: str = OTHER) -> list[Compared]:
    """Compare clips with so many word errors in the resynthesis."""

    def clip(errors: float, sound: str) -> ClipRow:
        none = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
        asr = ProbeValue(
            status="ok", shared={"words": 12.0, "characters": 50.0}, reference=none,
            resynthesis=none | {"insertions": errors},
        )  # fmt: skip
        return row("a", resynthesis_sha256=sound, probes={"asr": asr})

    both = zip(there, here, strict=True)
    return [compare_clip(clip(one, ONE), clip(two, other), exact=False, probes=["asr"]) for one, two in both]


def _valued(there: ClipRow, key: str, value: float, sound: str) -> ClipRow:
    return there.model_copy(update={"metrics": there.metrics | {key: ok(value)}, "resynthesis_sha256": sound})


@pytest.mark.parametrize("key", ["sdr", "si_sdr"])
@pytest.mark.parametrize(("told", "true", "found"), [(-10.0, -28.0, True), (-26.0, -28.0, False)])
def test_what_lies_below_a_scale_is_noise_and_has_a_mean(
    clips: Sequence[ClipRow], key: str, told: float, true: float, found: bool
) -> None:
    """30 dB below, rounding moves single clips by tens of decibels; all raised to the end of the scale are forged."""
    noise = np.random.default_rng(3).normal(0, 10, len(clips))
    compared = [
        compare_clip(_valued(of, key, told, ONE), _valued(of, key, min(true + by, -10.5), OTHER), exact=False)
        for of, by in zip(clips, noise.tolist(), strict=True)
    ]
    assert all(of.verdict.verdict == "agrees" for of in compared)
    names = [of.quantity.partition(",")[0] for of in drifts([of.changes for of in compared])]
    assert names == ([f"{key} beyond its scale"] if found else [])


@pytest.mark.parametrize("key", ["sdr", "si_sdr"])
def test_what_lies_above_a_scale_is_held_as_on_it(clips: Sequence[ClipRow], key: str) -> None:
    """At 33 dB rounding moves nothing: 50 in its place passed, and 240."""
    for told, found in ((33.1, []), (50.0, [key]), (240.0, [key])):
        here = _valued(clips[0], key, 33.0, OTHER)
        assert quantities(_valued(clips[0], key, told, ONE), here) == found
    raised = [compare_clip(_valued(of, key, 34.0, ONE), _valued(of, key, 33.0, OTHER), exact=False) for of in clips]
    assert [of.quantity for of in drifts([of.changes for of in raised])] == [key]


def test_a_single_answer_of_a_model_may_tip_over() -> None:
    """Right there and wrong here, on one to three of few clips of other sound; of four the submitter has chosen."""
    name, limits = "aec.resynthesis.correct", OTHER_SOUND["answer"]
    alike = [{name: Change(0.0, 0.0, 1.0, limits)}] * 6
    tipped = {name: Change(1.0, 0.0, 1.0, limits)}
    assert drifts([*alike, tipped]) == ()
    assert drifts([*alike, *[tipped] * 3]) == ()
    assert [of.quantity for of in drifts([*alike, *[tipped] * 4])] == [name]


def test_a_word_may_tip_over() -> None:
    """Where there are few errors one more is most of them, and a sentence may gain eight; no mean is lowered so."""
    honest = answers(there=[0, 1, 4, *[0, 1, 2, 3, 2] * 4], here=[1, 0, 0, *[0, 1, 2, 3, 2] * 4])
    assert all(of.verdict.verdict == "agrees" for of in honest)
    assert drifts([of.changes for of in honest]) == ()
    forged = answers(there=[1, 1, 2, 0] * 6, here=[3, 2, 3, 1] * 6)
    assert all(of.verdict.verdict == "agrees" for of in forged)
    assert [of.quantity for of in drifts([of.changes for of in forged])] == [
        "asr.resynthesis.errors", "asr.resynthesis.insertions",
    ]  # fmt: skip
    fewer = answers(there=[2, 2, 3, 1] * 6, here=[3, 3, 3, 2] * 6)  # a quarter fewer: the sum alone tells
    assert [of.quantity for of in drifts([of.changes for of in fewer])] == ["asr.resynthesis.errors"]
    (removed,) = answers(there=[0], here=[9])
    assert removed.verdict.verdict == "differs"
    (same,) = answers(there=[0], here=[1], other=ONE)
    assert same.verdict.verdict == "differs"


@pytest.mark.parametrize("sound", [ONE, OTHER])
def test_labels_and_originals_do_not_depend_on_the_sound(sound: str) -> None:
    """Words that nobody said, and originals that a model hears worse here, are found whatever the codec's sound."""

    def clip(words: float, original: float, sound: str = ONE) -> ClipRow:
        none = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
        asr = ProbeValue(
            status="ok", shared={"words": words, "characters": 50.0}, reference=none | {"insertions": original},
            resynthesis=none,
        )  # fmt: skip
        return row("a", resynthesis_sha256=sound, probes={"asr": asr})

    def differing(there: ClipRow, here: ClipRow) -> list[str]:
        found = compare_clip(there, here, exact=False, probes=["asr"]).verdict.differences
        return [entry.quantity for entry in found]

    assert differing(clip(12, 3), clip(12, 3, sound)) == []
    assert differing(clip(16, 3), clip(12, 3, sound)) == ["asr.shared.words"]
    assert differing(clip(12, 4), clip(12, 3, sound)) == ["asr.reference.insertions"]


def test_names_and_ranks_are_no_sizes() -> None:
    """On other sound another class may be predicted, and a rank may fall far: how much it lost is one over it."""

    def clip(predicted: float, rank: float, sound: str) -> ClipRow:
        side = {"predicted": predicted, "rank": rank, "no_answer": 0.0}
        shared = {"label": 3.0, "oracle_rank": 1.0}
        value = ProbeValue(status="ok", shared=shared, reference=side | {"rank": 1.0}, resynthesis=side)
        return row("a", resynthesis_sha256=sound, probes={key: value})

    key = "mseb_classification_intent"
    moves = [compare_clip(clip(3, 20, ONE), clip(3, 90, OTHER), exact=False, probes=[key]) for _ in range(22)]
    assert all(of.verdict.verdict == "agrees" for of in moves)
    assert drifts([of.changes for of in moves]) == ()
    better = [compare_clip(clip(3, 1, ONE), clip(3, 9, OTHER), exact=False, probes=[key]).changes for _ in range(22)]
    assert [of.quantity for of in drifts(better)] == [f"{key}.resynthesis.rank"]
    (moved_class,) = compare_clip(clip(3, 1, ONE), clip(4, 1, ONE), exact=False, probes=[key]).verdict.differences[:1]
    assert moved_class.quantity == f"{key}.reference.predicted"
    far = compare_clip(clip(60, 1, ONE), clip(61, 1, ONE), exact=False, probes=[key]).verdict
    assert {of.quantity for of in far.differences} >= {f"{key}.resynthesis.predicted"}  # as far off as any other class


@pytest.mark.parametrize(("key", "found"), [("mseb_classification_speaker", True), ("und_xares_mecat", False)])
def test_a_foreign_clip_loosens_no_head(key: str, found: bool) -> None:
    """A head learns from originals: what it answers of a clip is of its own sound. DATE takes all answers."""
    sided = {field.name: field.minimum for field in PROBES[key].sided}
    shared = {field.name: 1.0 for field in PROBES[key].shared}
    better = sided | {"rank": 2.0} if found else sided | {"value": 100.0}
    there, here = (
        row("a", resynthesis_sha256=ONE, probes={key: ProbeValue(
            status="ok", shared=shared, reference=sided, resynthesis=side)})
        for side in (better, sided)
    )  # fmt: skip
    verdict = compare_clip(there, here, exact=False, probes=[key], alike=False).verdict
    assert (verdict.verdict == "differs") == found
    assert compare_clip(there, here, exact=False, probes=[key]).verdict.verdict == "differs"


def test_a_metric_that_is_not_computed_here_says_nothing(clips: Sequence[ClipRow]) -> None:
    """Never agreed to in silence, whatever the file has: a value, or that it is undefined."""
    there = clips[0]
    here = there.model_copy(update={"metrics": {k: v for k, v in there.metrics.items() if k != "pesq"}})
    for pesq in (ok(3.0), MetricValue(status="undefined", reason="no utterance")):
        stated = there.model_copy(update={"metrics": there.metrics | {"pesq": pesq}})
        with pytest.raises(FailedHere, match="pesq is in the file and was not computed here"):
            compare_clip(stated, here, exact=False)
    plugged = there.model_copy(update={"metrics": there.metrics | {"mine": ok(1.0)}})
    assert quantities(plugged, there) == []


def test_more_differences_than_are_listed() -> None:
    """A clip that differs in more numbers than a verdict names differs, with as many as it names."""

    def clip(by: float) -> ClipRow:
        probes = {}
        for key in [key for key, of in PROBES.items() if key.startswith("mseb_clustering")]:
            side = {field.name: by for field in PROBES[key].sided}
            probes[key] = ProbeValue(status="ok", shared={"label": 1.0}, reference=side, resynthesis=side)
        return row("a", resynthesis_sha256=ONE, probes=probes)

    found = compare_clip(clip(2), clip(1), exact=True, probes=list(clip(1).probes)).verdict
    assert (found.verdict, len(found.differences)) == ("differs", DIFFERENCES)


@pytest.mark.parametrize("share", [0.5, 0.69, 0.75])
def test_a_spread_of_the_submitters_choice_widens_nothing(clips: Sequence[ClipRow], share: float) -> None:
    """Some clips better by nearly the tolerance and the others worse: the mean, or the spread itself, is found."""
    better = round(share * len(clips))
    moves = [-0.73] * better + [0.73] * (len(clips) - better)
    forged = [compare_clip(there, moved(there, by), exact=False) for there, by in zip(clips, moves, strict=True)]
    assert all(entry.verdict.verdict == "agrees" for entry in forged)
    (drift,) = drifts([of.changes for of in forged])
    assert drift.quantity == ("pesq, spread of the differences" if share == 0.5 else "pesq")


@pytest.mark.parametrize("field", ["category", "sampling_rate", "samples", "tokens"])
def test_what_follows_from_the_dataset_must_be_equal(clips: Sequence[ClipRow], field: str) -> None:
    """On other sound too: tokens give the bits of a codec of tokens, and no rounding changes how many there are."""
    there = clips[0].model_copy(update={"tokens": 300})
    other = "music" if field == "category" else getattr(there, field) + 1
    for sound in (ONE, OTHER):
        assert quantities(there, moved(there, 0, sound, **{field: other})) == [field]


@pytest.mark.parametrize("field", ["lag_samples", "clipped_samples"])
def test_what_follows_from_the_sound_is_equal_where_it_is(clips: Sequence[ClipRow], field: str) -> None:
    """Found in the sound itself: of the same sound it cannot differ, of other sound as little as rounding moves it."""
    there = clips[0].model_copy(update={"lag_samples": 0, "clipped_samples": 0})
    assert quantities(there, moved(there, 0, ONE, **{field: 1})) == [field]
    assert quantities(there, moved(there, 0, OTHER, **{field: 1})) == []
    assert quantities(there, moved(there, 0, OTHER, **{field: 4000})) == [field.partition("_")[0]]


def test_lags_and_clipped_samples_of_other_sound(clips: Sequence[ClipRow]) -> None:
    """A lag that nobody here finds, or none where there is one, on all clips; clipping that was left out."""
    drawn = [clip.model_copy(update={"lag_samples": 3, "clipped_samples": 900}) for clip in clips]
    assert quantities(drawn[0], moved(drawn[0], 0, lag_samples=None)) == []
    late = drawn[0].model_copy(update={"lag_samples": drawn[0].sampling_rate})
    assert quantities(late, moved(late, 0, lag_samples=None)) == ["lag"]
    for here, told in (
        ({"lag_samples": 4, "clipped_samples": 905}, []), ({"lag_samples": None}, ["lag is distinct"]),
        ({"lag_samples": 50}, ["lag"]), ({"clipped_samples": 1300}, ["clipped"]),
    ):  # fmt: skip
        compared = [compare_clip(clip, moved(clip, 0, **here), exact=False) for clip in drawn]
        assert [drift.quantity for drift in drifts([each.changes for each in compared])] == told, here


def test_what_is_defined_must_be_the_same(clips: Sequence[ClipRow]) -> None:
    """Undefined there and defined here, or the other way; a clip that failed there and has a sound here; a length."""
    there = clips[0]
    undefined = there.model_copy(
        update={"metrics": there.metrics | {"pesq": MetricValue(status="undefined", reason="no utterance")}}
    )
    assert quantities(undefined, there) == ["pesq"]
    assert quantities(there, undefined) == ["pesq"]
    assert quantities(there, there.model_copy(update={"samples": 10, "category": "music"})) == ["category", "samples"]
    gone = failed(there.clip)
    assert "status" in quantities(gone, there.model_copy(update={"category": "speech"}))
    assert quantities(gone, gone) == []


def test_what_fails_here_alone_says_nothing(clips: Sequence[ClipRow]) -> None:
    """A clip or a metric that crashes on this machine is no fault of the file."""
    there = clips[0]
    with pytest.raises(FailedHere, match="encode fails here"):
        compare_clip(there, failed(there.clip), exact=False)
    for given_up in ({"stage": "worker", "error_type": "WorkerDied"}, {"error_type": "MemoryError"}):
        with pytest.raises(MachineFailed):
            compare_clip(there, failed(there.clip).model_copy(update=given_up), exact=True)
    crashed = there.metrics | {"pesq": MetricValue(status="failed", reason="killed")}
    with pytest.raises(FailedHere, match="pesq fails here: killed"):
        compare_clip(there, there.model_copy(update={"metrics": crashed}), exact=False)


def test_numbers_of_probes() -> None:
    """Equal within a share of their range, counts within a share of themselves; only those that are asked for."""

    def probed(errors: float, mos: float) -> ClipRow:
        words = {"substitutions": errors, "deletions": 0.0, "insertions": 0.0}
        none = dict.fromkeys(words, 0.0)
        asr = ProbeValue(status="ok", shared={"words": 20.0, "characters": 90.0}, reference=none, resynthesis=words)
        utmos = ProbeValue(status="ok", reference={"mos": 4.0}, resynthesis={"mos": mos})
        return row("a", resynthesis_sha256=ONE, probes={"asr": asr, "utmos": utmos})

    def differing(here: ClipRow, *probes: str) -> list[str]:
        found = compare_clip(probed(8, 3.0), here, exact=False, probes=probes).verdict.differences
        return [entry.quantity for entry in found]

    assert differing(probed(8, 3.1), "asr", "utmos") == []
    assert differing(probed(4, 3.2), "asr", "utmos") == ["asr.resynthesis.substitutions", "utmos.resynthesis.mos"]
    assert differing(probed(4, 3.2), "asr") == ["asr.resynthesis.substitutions"]
    assert differing(probed(4, 3.2)) == []
    assert differing(row("a", resynthesis_sha256=ONE), "asr") == []


def test_the_same_sound_is_demanded_where_nothing_else_is() -> None:
    """Of a deterministic codec, whatever processor the file claims; not with other libraries, nor of a network."""
    here = stamp("resynth")
    opus = card(kind="classical", family="opus")
    assert is_exact(opus, (here, stamp("score")), here)
    assert is_exact(opus, (here.model_copy(update={"processor": "another", "device": "cuda"}),), here)
    assert not is_exact(card(kind="neural", family="opus"), (here,), here)
    assert not is_exact(card(kind="classical", family="codec2"), (here,), here)
    assert not is_exact(opus, (stamp("score"),), here)
    for other in ({"packages": {"numpy": "2.1"}}, {"platform": "Windows"}):
        assert not is_exact(opus, (here.model_copy(update=other),), here)


def test_whether_a_pitch_is_found_may_tip_over(clips: Sequence[ClipRow]) -> None:
    """On a clip of other sound; on a fifth of all the submitter has chosen, and of the same sound nothing tips over."""
    nothing = MetricValue(status="undefined", value=None, reason="no voiced frames")

    def compared(number: int, sound: str) -> list[Compared]:
        there = [
            of.model_copy(update={"metrics": of.metrics | {"f0corr": nothing if at < number else ok(0.9)}})
            for at, of in enumerate(clips)
        ]
        here = [_valued(of, "f0corr", 0.9, sound) for of in clips]
        return [compare_clip(one, two, exact=False) for one, two in zip(there, here, strict=True)]

    assert {of.verdict.verdict for of in compared(6, OTHER)} == {"agrees"}
    assert drifts([of.changes for of in compared(1, OTHER)]) == ()
    assert [of.quantity for of in drifts([of.changes for of in compared(6, OTHER)])] == ["f0corr is defined"]
    assert [of.verdict.verdict for of in compared(1, ONE)][:2] == ["differs", "agrees"]
