"""``Result``: what came of one codec or several, as tables, figures, rows, sounds and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from html import escape
from math import fsum, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from codec_superb.api.clips import Clip
from codec_superb.api.comparison import Comparison
from codec_superb.api.folder import Folder
from codec_superb.api.given import check_category, check_there
from codec_superb.api.rendering import data_frame
from codec_superb.api.result_tables import application_rows, clip_rows, codec_rows, tables
from codec_superb.base_codec.card import Card
from codec_superb.cli.commands.report import TITLE, rank, write
from codec_superb.cli.options import DEFAULT_SAMPLES
from codec_superb.cli.report_data import codec_results, failures_of
from codec_superb.data_manifests.objects.store_path import Place
from codec_superb.metrics.results import Estimate, Score
from codec_superb.metrics.table import Category, metrics_for
from codec_superb.pipeline.aggregates.rate import measured_rates
from codec_superb.pipeline.aggregates.summary import summarise
from codec_superb.pipeline.comparison.codecs import compare_results
from codec_superb.pipeline.comparison.results import ResultDataset, Results, combine
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.web.quantity import SCORE, SCORE_KEY, from_metric
from codec_superb.web.rows import ClipFailure

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class Result:
    """One codec or several; iterating it, and ``result["opus_12k"]``, give each codec's own.

    What is of one codec (``card``, ``metrics``, ``score``, ``flat``, ``compare``, ``save``) raises PipelineError where
    there are several. Of a codec that was run under conditions too, it is the clean run.
    """

    def __init__(
        self, entries: Iterable[Results], homes: tuple[Folder, ...] = (), evaluate: Callable[..., Result] | None = None
    ) -> None:
        self.entries = tuple(entries)
        """A codec and condition each, as the pipeline has them."""
        self.homes = homes
        """Folders of runs; temporary ones live as long as what rests on them."""
        self._evaluate = evaluate

    @property
    def codecs(self) -> tuple[str, ...]:
        """Names of the codecs."""
        return tuple(dict.fromkeys(entry.card.name for entry in self.entries))

    @property
    def folders(self) -> list[Path]:
        """Run folders. Raises PipelineError where some of it was loaded from submission files, or lies in a store."""
        found = _places(self.entries)
        if stored := [place for place in found if not isinstance(place, Path)]:
            raise PipelineError(f"{stored[0]} lies in a store, where nothing is added to a run: copy it to a folder")
        return [place for place in found if isinstance(place, Path)]

    def __len__(self) -> int:
        return len(self.codecs)

    def __iter__(self) -> Iterator[Result]:
        return map(self.__getitem__, self.codecs)

    def __getitem__(self, codec: str) -> Result:
        """Return the result of one codec. Raises KeyError with the names that there are."""
        found = [entry for entry in self.entries if entry.card.name == codec]
        if not found:
            raise KeyError(f"{codec}: the codecs of this result are {', '.join(self.codecs)}")
        return self._with(found)

    def __add__(self, other: Result) -> Result:
        """Join two results. Raises PipelineError where one codec has a dataset in both."""
        return Result(combine([*self.entries, *other.entries]), (*self.homes, *other.homes), self._evaluate)

    def _with(self, entries: Iterable[Results]) -> Result:
        return Result(entries, self.homes, self._evaluate)

    def only(self) -> Results:
        """Return what the pipeline has of the only codec, of its clean run. Raises PipelineError for several."""
        clean = [entry for entry in self.entries if entry.condition is None] or list(self.entries)
        if len(clean) != 1:
            raise PipelineError(f"expected the result of one codec, got {', '.join(self.codecs)}: take result[NAME]")
        return clean[0]

    @property
    def card(self) -> Card:
        """The codec's card, as it was run."""
        return self.only().card

    @property
    def metrics(self) -> dict[Category, dict[str, Estimate]]:
        """By category and metric: mean, interval, and counts of clips with a value, undefined and failed."""
        entry = self.only()
        return {of.category: summarise(entry.aggregates, of).metrics for of in entry.aggregates.categories}

    @property
    def score(self) -> dict[Category, Score]:
        """Overall score by category, with its interval; without a value where one of its metrics has none."""
        return {of.category: of.score for of in self.only().aggregates.categories}

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Return one flat dict for a logger.

        The mean of each metric over all clips with a value, ``kbps``, ``clips`` and ``failed``; of one category its
        ``score``; of several those of each, as ``speech/mel``. What has no value is NaN.
        """
        entry = self.only()
        ok = [row for row in entry.rows if row.status == "ok"]
        found: dict[str, float] = {}
        for key in entry.metrics:
            values = [row.metrics[key].value for row in ok if key in row.metrics]
            found[key] = _mean([value for value in values if value is not None])
        found["kbps"] = measured_rates({(of.category, of.dataset): of for of in entry.aggregates.datasets}, [("", "")])[
            0
        ]
        found |= {"clips": len(entry.rows), "failed": len(entry.rows) - len(ok)}
        several = len(entry.aggregates.categories) > 1
        for category, score in self.score.items():
            place = f"{category}/" if several else ""
            found[f"{place}score"] = nan if score.value is None else score.value
            for key, estimate in self.metrics[category].items() if several else ():
                found[f"{place}{key}"] = nan if estimate.mean is None else estimate.mean
        return {f"{prefix}{key}": value for key, value in found.items()}

    @property
    def clips(self) -> list[Clip]:
        """Every clip through every codec, with values and sound."""
        return [
            Clip(entry.title, row, origin)
            for entry in self.entries
            for row in entry.rows
            if (origin := entry.dataset(row.dataset)) is not None
        ]

    @property
    def failures(self) -> list[ClipFailure]:
        """What has no value: clips and metrics, each with stage, status (``failed`` or ``undefined``) and reason."""
        return [failure for entry in self.entries for failure in failures_of(entry)]

    def to_pandas(self, rows: Literal["codecs", "clips", "applications"] = "codecs") -> pd.DataFrame:
        """Return a row a codec, condition and category with intervals, a row a clip, or a row an application's figure.

        Raises PipelineError where pandas is not installed.
        """
        made = {"codecs": codec_rows, "clips": clip_rows, "applications": application_rows}
        if rows not in made:
            raise PipelineError(f"expected rows of {', '.join(made)}, got {rows!r}")
        return data_frame(made[rows](self.entries))

    def plot(self, quantity: str = SCORE_KEY, category: Category | None = None) -> go.Figure:
        """Draw bitrate against the overall score or a metric, with intervals and the Pareto front, of one category.

        By default it is the first category that there is. Raises PipelineError for a metric that was not computed.
        """
        import plotly.graph_objects as go

        from codec_superb.web.figures import rate_chart
        from codec_superb.web.theme import family_styles

        results = codec_results(self.entries, {})
        check_category(category)
        shown = category or next((row.summary.category for row in results), "speech")
        rows = [row for row in results if row.summary.category == shown]
        table = {key: row for entry in self.entries for key, row in entry.table().items() if key in entry.metrics}
        if quantity not in {SCORE_KEY, *table}:
            raise PipelineError(f"{quantity}: expected {SCORE_KEY} or a metric of this result: {', '.join(table)}")
        of = SCORE if quantity == SCORE_KEY else from_metric(table[quantity])
        figure = rate_chart(rows, of, family_styles(row.family for row in rows))
        drawn = go.Figure(figure).update_layout(
            title=f"{shown}: bitrate and {of.label}", height=480, margin_t=60, showlegend=True
        )
        # pages have a legend of their own, which leaves out the names in the chart
        return drawn.for_each_trace(lambda trace: trace.update(showlegend=(trace.meta or {}).get("role") != "names"))

    def compare(self, other: object, **options: Any) -> Comparison:
        """Compare with another result, or with another codec, which is run on the same clips.

        It is scored with the same metrics and probed with the same models. ``options`` are those of ``evaluate`` for
        that codec: ``name``, ``kbps``, ``device``, ``out``, … Differences are this codec minus the other, paired by
        clip. Raises PipelineError where the two share nothing.
        """
        one = self.only()
        if not isinstance(other, Result):
            other = self._run(other, one, options)
        return Comparison(compare_results(one, other.only(), tests=True))

    def _run(self, codec: object, one: Results, options: dict[str, Any]) -> Result:
        """Run another codec on the clips of this one; a named one in the folder of this one, to be used again."""
        assert self._evaluate is not None
        if isinstance(codec, str) and self.homes:
            options = {"out": self.homes[0].path} | options
        parts = [self._evaluate(codec, **self._same(one, of), **options) for of in one.datasets]
        whole = parts[0]
        for part in parts[1:]:
            whole += part
        return whole

    def _same(self, one: Results, of: ResultDataset) -> dict[str, Any]:
        """Return the options that give the same clips, metrics and probes as those of a dataset."""
        info, keys = of.info, set(of.metrics) - set(of.custom_metrics)
        categories = {row.category for row in one.rows if row.dataset == info.name}
        usual = {key for category in categories for key in metrics_for(category)}
        return {
            "dataset": info.location or info.name,
            "limit": info.selected if info.selected < info.clips else None,
            "category": info.category,
            "metrics": None if keys == usual else sorted(keys),
            "applications": [used.probe for used in of.probes],
            "backends": list(dict.fromkeys(used.backend for used in of.probes)),
        }

    def save(
        self,
        path: str | Path,
        *,
        submitter: str | None = None,
        contact: str | None = None,
        samples: int = DEFAULT_SAMPLES,
    ) -> Path:
        """Write the submission of the only codec, with ``samples`` clips to listen to, and return its path.

        Raises SubmissionError, saying what to do, for what cannot be submitted.
        """
        self.only()
        who = Submitter(name=submitter, contact=contact) if submitter else None
        clean = self._with(entry for entry in self.entries if entry.condition is None)
        return pack(_places(clean.entries), Path(path).expanduser(), submitter=who, samples=samples)

    def report(self, path: str | Path, *, title: str = TITLE) -> Path:
        """Write the page that ``codec-superb report`` writes, and return its path."""
        out = Path(path).expanduser()
        write(self.entries, rank(self.entries), out, title=title)
        return out

    @cached_property
    def _tables(self) -> list[Any]:
        return tables(self.entries)

    def __repr__(self) -> str:
        return "\n\n".join([*(table.as_text() for table in self._tables), *self._told()])

    def _repr_html_(self) -> str:
        told = [f"<p>{escape(line)}</p>" for line in self._told()]
        return "".join([*(table.as_html() for table in self._tables), *told])

    def _told(self) -> list[str]:
        """Say how many clips failed, and the first reason."""
        failed = [failure for failure in self.failures if failure.kind == "failed"]
        if not failed:
            return []
        first = failed[0]
        return [f"{len(failed)} failed, the first: {first.codec}, {first.clip} ({first.stage}): {first.reason}"]


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values) if values else nan


def _places(entries: Iterable[Results]) -> list[Place]:
    """Return where runs lie. Raises PipelineError where some are submission files, or are no more."""
    found = [of.source for entry in entries for of in entry.datasets]
    for place in found:
        check_there(place)
    if files := [place for place in found if place.is_file()]:
        raise PipelineError(f"{files[0]} is a submission, which holds no sound: load the run folders for this")
    return found
