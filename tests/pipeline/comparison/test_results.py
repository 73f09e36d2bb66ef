"""Results: a run folder and the submission packed from it give the same codec, rows and aggregates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pipeline.probed import probe_run
from support.pipeline.stats import KEYS, card, draw_rows, failed, sha, write_run
from support.pipeline.submissions import change_number, rewrite

from codec_superb.base_codec.card import Weights
from codec_superb.pipeline.aggregates.metrics import aggregate
from codec_superb.pipeline.comparison.results import combine, load_results
from codec_superb.pipeline.errors import PipelineError, RunFolderError, SubmissionError
from codec_superb.pipeline.submission.pack import pack

CARD = card()
WEIGHTS = Weights(source="local:a", sha256=sha("a"), config_sha256=sha("config"))


def test_a_run_and_its_submission_are_the_same_results(tmp_path: Path) -> None:
    """Card, rows, metrics and aggregates agree; both know the dataset's size and where they came from."""
    rows = [*draw_rows(1, 12), failed("x")]
    run = write_run(tmp_path, rows, card=CARD, clips=60)
    packed = pack([run], tmp_path / "a.zip")
    one, two = load_results(run.path), load_results(packed)
    assert (one.card, one.rows, one.metrics, one.aggregates) == (two.card, two.rows, two.metrics, two.aggregates)
    assert one.aggregates == aggregate(rows, metrics=KEYS, expected={"mini": 60})
    assert [dataset.info for dataset in one.datasets] == [dataset.info for dataset in two.datasets]
    assert (one.datasets[0].source, two.datasets[0].source) == (run.path, packed)
    assert not one.datasets[0].custom


def test_a_submission_is_aggregated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its check has computed from the rows is what is loaded: nothing is drawn a second time."""
    file = pack([write_run(tmp_path, draw_rows(1, 9), card=card())], tmp_path / "a.zip")
    calls: list[int] = []

    def counted(rows: Any, **options: Any) -> Any:
        calls.append(len(rows))
        return aggregate(rows, **options)

    for module in ("submission.check_numbers", "comparison.results"):
        monkeypatch.setattr(f"codec_superb.pipeline.{module}.aggregate", counted)
    assert load_results(file).aggregates.categories
    assert calls == [9]


def test_applications_are_the_same_from_a_run_and_its_submission(tmp_path: Path) -> None:
    """Pairs, how probes were run, and every figure; datasets joined, each with its own."""
    runs = [write_run(tmp_path, draw_rows(n, 30, dataset=name), card=CARD) for n, name in enumerate("ab")]
    probe_run(runs[0], ["asv", "sim"])
    probe_run(runs[1], ["asr"])
    (one,) = combine([load_results(run.path) for run in runs])
    two = load_results(pack(runs, tmp_path / "a.zip"))
    assert one.aggregates == two.aggregates
    assert {entry.dataset for entry in one.aggregates.applications} == {"a", "b"}
    assert sorted(one.pairs, key=repr) == sorted(two.pairs, key=repr)
    assert [[info.probe for info in dataset.probes] for dataset in one.datasets] == [["asv", "sim"], ["asr"]]
    assert [dataset.probes for dataset in one.datasets] == [dataset.probes for dataset in two.datasets]


def test_what_a_killed_probing_left_is_in_no_results(tmp_path: Path) -> None:
    """Columns and pairs that run.json does not name are not shown."""
    run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
    probe_run(run, ["asv", "sim"])
    run.write_info(run.info().model_copy(update={"probes": {}}))
    found = load_results(run.path)
    assert (found.pairs, found.aggregates.applications) == ((), ())
    assert all(not row.probes for row in found.rows)


def test_an_own_folder_stays_custom_through_a_submission(tmp_path: Path) -> None:
    """The mark survives, the location does not."""
    run = write_run(tmp_path, draw_rows(1, 6), card=CARD, location="/srv/voices", category="speech")
    (here,), (there,) = load_results(run.path).datasets, load_results(pack([run], tmp_path / "a.zip")).datasets
    assert (here.custom, there.custom) == (True, True)
    assert (here.info.location, there.info.location) == ("/srv/voices", None)


def test_a_run_that_is_not_scored_has_no_results(tmp_path: Path) -> None:
    """The error says what to call."""
    run = write_run(tmp_path, draw_rows(1, 6), card=CARD, status="resynthesised")
    with pytest.raises(RunFolderError, match="call score first"):
        load_results(run.path)


def test_a_submission_that_fails_its_check_gives_no_results(tmp_path: Path) -> None:
    """Numbers that were changed are not shown; the error names the first problem and how to fix it."""
    import json

    packed = pack([write_run(tmp_path, draw_rows(1, 6), card=CARD)], tmp_path / "a.zip")

    def alter(members: dict[str, bytes]) -> None:
        document = json.loads(members["submission.json"])
        change_number(document, ("aggregates", "datasets", 0, "score", "value"), 0.1)
        members["submission.json"] = json.dumps(document).encode()

    changed = tmp_path / "changed.zip"
    changed.write_bytes(rewrite(packed, alter).getvalue())
    with pytest.raises(SubmissionError, match=r"does not pass its check.*\(and 1 more\); .*pack"):
        load_results(changed)


class TestCombine:
    """Runs of one codec on several datasets are one codec."""

    def test_datasets_of_a_codec_are_joined(self, tmp_path: Path) -> None:
        """Aggregates are those over all rows, whether they come from runs or submissions."""
        one = write_run(tmp_path, draw_rows(1, 12), card=CARD)
        two = write_run(tmp_path, draw_rows(2, 12, dataset="another"), card=CARD)
        other = write_run(tmp_path, draw_rows(3, 12), card=card("lc3_16k"))
        joined = combine(
            [load_results(one.path), load_results(other.path), load_results(pack([two], tmp_path / "a.zip"))]
        )
        assert [entry.card.name for entry in joined] == ["lc3_16k", "opus_16k"]
        opus = joined[1]
        assert [dataset.info.name for dataset in opus.datasets] == ["another", "mini"]
        assert opus.aggregates == aggregate(opus.rows, metrics=KEYS)
        assert opus.aggregates.categories[0].datasets == ("another", "mini")

    def test_a_dataset_that_comes_twice_is_an_error(self, tmp_path: Path) -> None:
        """A run and its own submission are the same results twice."""
        run = write_run(tmp_path, draw_rows(1, 12), card=CARD)
        packed = pack([run], tmp_path / "a.zip")
        with pytest.raises(PipelineError, match="opus_16k on mini comes twice"):
            combine([load_results(run.path), load_results(packed)])

    def test_two_cards_of_one_name_are_an_error(self, tmp_path: Path) -> None:
        """Two versions of a library are two codecs."""
        one = write_run(tmp_path / "1", draw_rows(1, 12), card=CARD)
        two = write_run(tmp_path / "2", draw_rows(1, 12, dataset="b"), card=card(version="libopus 1.6"))
        with pytest.raises(PipelineError, match="two that differ"):
            combine([load_results(one.path), load_results(two.path)])

    @pytest.mark.parametrize(
        ("one", "two", "reason"),
        [
            ({"settings": {}}, {"settings": {"dtype": "bfloat16"}}, "settings"),
            (
                {"weights": WEIGHTS},
                {"weights": WEIGHTS.model_copy(update={"sha256": sha("b")})},
                r"weights \(local:a, ",
            ),
            ({"weights": WEIGHTS}, {"weights": WEIGHTS.model_copy(update={"source": "random"})}, r"random, SHA-256"),
            ({"weights": WEIGHTS}, {"weights": WEIGHTS.model_copy(update={"config_sha256": sha("c")})}, "config.json"),
            ({"weights": None}, {"weights": WEIGHTS}, r"weights \(none; local:a"),
        ],
    )
    def test_other_weights_or_settings_are_another_codec(
        self, tmp_path: Path, one: dict[str, Any], two: dict[str, Any], reason: str
    ) -> None:
        """A mean over datasets is of one model in one precision; both folders are named."""
        first = write_run(tmp_path / "1", draw_rows(1, 12), card=card(**one))
        second = write_run(tmp_path / "2", draw_rows(1, 12, dataset="b"), card=card(**two))
        with pytest.raises(PipelineError, match=f"two that differ in .*{reason}.*{first.path} and {second.path}"):
            combine([load_results(first.path), load_results(second.path)])

    def test_where_the_same_weights_lie_is_nobodys_business(self, tmp_path: Path) -> None:
        """Paths in settings, which a submission shortens, and the folder of the same weights make no other codec."""
        elsewhere = WEIGHTS.model_copy(update={"source": "owner/repository", "revision": "1" * 40})
        cards = [
            card(settings={"model": "/home/ann/voices/large/net.bin"}, weights=WEIGHTS),
            card(settings={"model": "…/large/net.bin"}, weights=elsewhere),
        ]
        runs = [
            write_run(tmp_path / str(at), draw_rows(1, 12, dataset=f"set{at}"), card=own)
            for at, own in enumerate(cards)
        ]
        assert len(combine([load_results(run.path) for run in runs])) == 1

    def test_two_versions_of_a_metric_are_an_error(self, tmp_path: Path) -> None:
        """Their mean would be of two different things."""
        one = write_run(tmp_path, draw_rows(1, 12), card=CARD)
        two = write_run(tmp_path, draw_rows(1, 12, dataset="b"), card=CARD)
        info = two.info()
        two.write_info(info.model_copy(update={"metrics": {**info.metrics, "mel": "0"}}))
        with pytest.raises(PipelineError, match="mel has version"):
            combine([load_results(one.path), load_results(two.path)])
