"""What a reviewer asks about an evaluation, answered from the run's own data alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from codec_superb.base_codec.card import NOT_STATED
from codec_superb.base_codec.weights import describe_weights
from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.metrics.table import overall_metrics
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.runs.info import Provenance
from codec_superb.pipeline.statistics.bootstrap import REPLICATES
from codec_superb.pipeline.statistics.jackknife import CONFIDENCE, METHOD
from codec_superb.web.paper.plain import markdown_text
from codec_superb.web.text import count, hertz, kbps, significant

_LONGEST = 12
"""Commands that are listed; a benchmark of many codecs has hundreds."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question."""

    part: str
    question: str
    answers: tuple[str, ...]
    """One line each; empty where the run does not say."""


def checklist(results: Sequence[Results]) -> list[Item]:
    """Answer each question from ``results``."""
    return [Item(part, question, tuple(dict.fromkeys(answer(results)))) for part, question, answer in _QUESTIONS]


def as_markdown(items: Iterable[Item]) -> str:
    """Write the list for an appendix; what is not known reads *not stated*."""
    lines = ["# Reproducibility checklist", ""]
    part = ""
    for item in items:
        if item.part != part:
            part = item.part
            lines += [*([""] if lines[-1] else []), f"## {part}", ""]
        lines.append(f"- **{item.question}**")
        lines += [f"  - {markdown_text(answer)}" for answer in item.answers] or [f"  - *{NOT_STATED}*"]
    return "\n".join([*lines, ""])


_Results = Sequence[Results]


def _clips(results: _Results) -> Iterator[str]:
    for entry in results:
        for of in entry.datasets:
            rows = Counter(row.category for row in entry.rows if row.dataset == of.info.name)
            parts = ", ".join(f"{n} {category}" for category, n in sorted(rows.items()))
            yield f"{of.info.title} ({of.info.name}): {of.info.selected} of {count(of.info.clips, 'clip')} ({parts})"


def _duration(results: _Results) -> Iterator[str]:
    for entry in results:
        for of in entry.aggregates.datasets:
            if not of.failed:
                yield f"{of.dataset}, {of.category}: {significant(of.seconds / 60, 3)} minutes"


def _states(results: _Results) -> Iterator[str]:
    for entry in results:
        for of in entry.datasets:
            yield f"{of.info.name}: SHA-256 over clip ids, audio and labels {of.info.manifest_hash}"


def _licences(results: _Results) -> Iterator[str]:
    for entry in results:
        for of in entry.datasets:
            yield f"{of.info.name}: {of.info.licence}{f', {of.info.homepage}' if of.info.homepage else ''}"


def _conditions(results: _Results) -> Iterator[str]:
    for entry in results:
        if entry.condition is None:
            yield "clean: the codec gets the clip and the decoder the whole payload"
        else:
            facts = entry.condition.facts()
            yield f"{entry.condition.label}: {facts['definition']} (version {entry.condition.version})"


def _versions(results: _Results) -> Iterator[str]:
    yield from _joined(results, lambda entry: entry.card.version)


def _trained(results: _Results) -> _Results:
    """Return those that may have been trained: all of which nobody says that they were not."""
    return [entry for entry in results if entry.card.kind not in {"classical", "lossless"}]


def _weights(results: _Results) -> Iterator[str]:
    trained = _trained(results)
    if results and not trained:
        yield "no codec was trained"
    yield from _joined(
        trained, lambda entry: describe_weights(entry.card.weights) if entry.card.weights else NOT_STATED
    )


def _training(results: _Results) -> Iterator[str]:
    trained = _trained(results)
    if results and not trained:
        yield "no codec was trained"
    yield from _joined(trained, lambda entry: entry.card.training_data or NOT_STATED)


def _settings(results: _Results) -> Iterator[str]:
    def settings(entry: Results) -> str:
        return ", ".join(f"{key} {value}" for key, value in sorted(entry.card.settings.items())) or "the usual ones"

    yield from _joined(results, settings)


def _rates(results: _Results) -> Iterator[str]:
    def works_at(entry: Results) -> str:
        return "the rate of its input" if entry.card.input_rate else hertz(entry.card.sampling_rate)

    yield "resampled to the codec's rate and back with soxr VHQ; metrics run at the rate of the reference"
    yield from _joined(results, works_at)


def _bits(results: _Results) -> Iterator[str]:
    yield "bits of the payload without container, over the seconds of the clips: all bits over all seconds"
    yield from _joined(
        [entry for entry in results if entry.card.bit_source != "measured"],
        lambda entry: f"bits are {entry.card.bit_source}, not measured",
    )
    if any(entry.card.codebooks is not None for entry in results):
        yield "token codecs: frames times the sum of log2 of the codebook sizes; no entropy coding is assumed"
    if any(entry.condition is not None and entry.condition.kind.place == "payload" for entry in results):
        yield "under conditions on the payload, the bits that were sent"


def _number(value: float | None, unit: str) -> str:
    return NOT_STATED if value is None else f"{value:g} {unit}"


def _bitrates(results: _Results) -> Iterator[str]:
    for entry in results:
        nominal = NOT_STATED if entry.card.nominal_kbps is None else f"{kbps(entry.card.nominal_kbps)} kbps"
        measured = ", ".join(
            f"{of.category} {NOT_STATED if of.kbps is None else kbps(of.kbps)}" for of in entry.aggregates.categories
        )
        note = f" ({entry.card.bitrate_note})" if entry.card.bitrate_note else ""
        yield f"{entry.title}: nominal {nominal}, {entry.card.bit_source} {measured}{note}"


def _delays(results: _Results) -> Iterator[str]:
    yield "the codec's own delay is removed, the residual lag is measured and never repaired"
    for entry in results:
        card = entry.card
        delay = _number(card.latency_ms, "ms")
        if card.latency_ms is None and card.causal is False:
            delay = "not known, or that of the whole clip"
        removed = f"delay removed {_number(card.delay_samples, 'samples')} ({card.delay_source})"
        lags = [of.largest_lag for of in entry.aggregates.datasets if of.largest_lag is not None]
        lag = NOT_STATED if not lags else count(max(lags), "sample")
        words: dict[bool | None, str] = {True: "causal", False: "not causal"}
        streams = words.get(card.causal, f"causal: {NOT_STATED}")
        yield f"{entry.title}: algorithmic latency {delay}, {removed}, largest residual lag {lag}, {streams}"


def _levels(results: _Results) -> Iterator[str]:
    yield "levels are left alone; samples beyond full scale are counted"
    yield from _joined([entry for entry in results if entry.card.level_note], lambda entry: entry.card.level_note or "")


def _metrics(results: _Results) -> Iterator[str]:
    for entry in results:
        table = entry.table()
        for key, version in entry.metrics.items():
            definition = table[key].definition if key in table else NOT_STATED
            yield f"{key}, version {version}: {definition}"


def _implementations(results: _Results) -> Iterator[str]:
    for stamp in _stamps(results):
        for key, backend in sorted(stamp.backends.items()):
            yield f"{key}: {backend}"


def _models(results: _Results) -> Iterator[str]:
    for entry in results:
        for of in entry.datasets:
            for probe in of.probes:
                settings = "".join(f", {name} {value}" for name, value in sorted(probe.settings.items()))
                untrained = ", untrained weights" if probe.random else ""
                model = f"{probe.backend}, SHA-256 {probe.model_sha256}"
                yield f"{probe.probe} {probe.version}: {model}{untrained}{settings}"


def _overall(results: _Results) -> Iterator[str]:
    for category in dict.fromkeys(of.category for entry in results for of in entry.aggregates.categories):
        yield f"{category}, a dataset: harmonic mean of the normalised means of {', '.join(overall_metrics(category))}"
    if results:
        yield "a category: harmonic mean of the scores of its datasets"


def _intervals(results: _Results) -> Iterator[str]:
    if results:
        yield (
            f"{100 * CONFIDENCE:g} % intervals by the jackknife over clusters of clips (speakers, recordings), with "
            f"Student's t and Hall's correction for skewness (method {METHOD})"
        )
        yield f"ranges of ranks: {REPLICATES} bootstrap draws of clusters, PCG64"
    for entry in results:
        for of in entry.aggregates.datasets:
            known = NOT_STATED if of.clusters is None else str(of.clusters)
            yield f"{of.dataset}, {of.category}: {known} clusters"


def _repetitions(results: _Results) -> Iterator[str]:
    if results:
        yield "each clip once through each codec"


def _seeds(results: _Results) -> Iterator[str]:
    if results:
        yield f"bootstrap: {SEED}, by dataset and category"
    if any(entry.condition is not None for entry in results):
        yield "conditions: by kind of condition and clip id"
    for entry in results:
        for of in entry.datasets:
            for probe in of.probes:
                for name, value in probe.settings.items():
                    if "seed" in name:
                        yield f"{probe.probe}: {name} {value}"


def _failures(results: _Results) -> Iterator[str]:
    for entry in results:
        failed = [row for row in entry.rows if row.status == "failed"]
        if failed:
            reasons = Counter(f"{row.stage}: {row.error_type}" for row in failed)
            told = ", ".join(f"{reason} ({n})" for reason, n in reasons.most_common(3))
            share = f"{len(failed)} of {count(len(entry.rows), 'clip')}"
            yield f"{entry.title}: {share} failed, counted and not scored: {told}"
    if results and not any(row.status == "failed" for entry in results for row in entry.rows):
        yield "no clip failed"


def _undefined(results: _Results) -> Iterator[str]:
    for entry in results:
        found = Counter(key for row in entry.rows for key, value in row.metrics.items() if value.status == "undefined")
        for key, n in sorted(found.items()):
            yield f"{entry.title}: {key} on {count(n, 'clip')}, left out of its mean"
    if results and not any(
        v.status == "undefined" for entry in results for row in entry.rows for v in row.metrics.values()
    ):
        yield "no value is undefined"


def _stamps(results: _Results) -> Iterator[Provenance]:
    for entry in results:
        for of in entry.datasets:
            yield from of.provenance


_ELSEWHERE = "imported"
"""Stage that took over sound: what it knows of this machine says nothing about that of the codec."""


def _hardware(results: _Results) -> Iterator[str]:
    for stamp in _stamps(results):
        if stamp.stage == _ELSEWHERE:
            yield f"{stamp.stage}: resynthesised elsewhere, on hardware that is {NOT_STATED}"
            continue
        batch = "" if stamp.batch_seconds is None else f", batches of up to {stamp.batch_seconds:g} s"
        yield f"{stamp.stage}: {stamp.processor}, {stamp.device}{batch}"


def _systems(results: _Results) -> Iterator[str]:
    for stamp in _stamps(results):
        where = f"{stamp.platform}, Python {stamp.python}"
        yield f"{stamp.stage}: {f'resynthesised elsewhere, {NOT_STATED}' if stamp.stage == _ELSEWHERE else where}"


def _program(results: _Results) -> Iterator[str]:
    for stamp in _stamps(results):
        dirty = ", with local changes" if stamp.dirty else ""
        yield f"codec-superb {stamp.tool_version}, commit {stamp.commit or 'of a release'}{dirty}"


def _packages(results: _Results) -> Iterator[str]:
    for stamp in _stamps(results):
        stage = f"{stamp.stage} (resynthesised elsewhere)" if stamp.stage == _ELSEWHERE else stamp.stage
        yield f"{stage}: {', '.join(f'{name} {version}' for name, version in sorted(stamp.packages.items()))}"


def _commands(results: _Results) -> Iterator[str]:
    commands = dict.fromkeys(stamp.command for stamp in _stamps(results))
    yield from list(commands)[:_LONGEST]
    if len(commands) > _LONGEST:
        yield f"and {len(commands) - _LONGEST} more, in each run's run.json"


def _dates(results: _Results) -> Iterator[str]:
    days = sorted(stamp.started[:10] for stamp in _stamps(results))
    if days:
        yield days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"


def _complexity(results: _Results) -> Iterator[str]:
    for entry in results:
        parts = entry.aggregates.datasets
        encoding = _range([of.encode_rtf for of in parts])
        decoding = _range([of.decode_rtf for of in parts])
        parameters = f"; {entry.card.parameters:,} parameters" if entry.card.parameters else ""
        yield f"{entry.title}: encoding {encoding}, decoding {decoding}{parameters}"


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return NOT_STATED
    least, most = significant(min(known)), significant(max(known))
    return least if least == most else f"{least} to {most}"


def _nothing(_results: _Results) -> Iterator[str]:
    return iter(())


def _joined(results: _Results, tell: Callable[[Results], str]) -> Iterator[str]:
    """Give one answer for all codecs of which it is the same."""
    answers: dict[str, list[str]] = {}
    for entry in results:
        answers.setdefault(tell(entry), []).append(entry.card.name)
    for answer, names in answers.items():
        yield f"{', '.join(dict.fromkeys(names))}: {answer}"


_QUESTIONS: tuple[tuple[str, str, Callable[[_Results], Iterator[str]]], ...] = (
    ("Data", "How many clips of which datasets?", _clips),
    ("Data", "How long are they?", _duration),
    ("Data", "Which state of the datasets?", _states),
    ("Data", "Under which licences?", _licences),
    ("Data", "What happened to the sound or the payload?", _conditions),
    ("Codecs", "Which implementations and versions?", _versions),
    ("Codecs", "Which weights, at which revision?", _weights),
    ("Codecs", "What were they trained on, and does that hold clips of the test?", _training),
    ("Codecs", "Which settings?", _settings),
    ("Codecs", "At which sampling rates?", _rates),
    ("Codecs", "How are bits counted?", _bits),
    ("Codecs", "Which bitrates, nominal and measured?", _bitrates),
    ("Codecs", "Which delay?", _delays),
    ("Codecs", "Was the level changed?", _levels),
    ("Codecs", "How fast, in seconds of computing per second of audio?", _complexity),
    ("Metrics", "Which definitions?", _metrics),
    ("Metrics", "Which implementations, where there are several?", _implementations),
    ("Metrics", "Which models answered for applications?", _models),
    ("Metrics", "How is the overall score formed?", _overall),
    ("Metrics", "Were people asked (a listening test)?", _nothing),
    ("Statistics", "How were intervals computed?", _intervals),
    ("Statistics", "How often was it repeated?", _repetitions),
    ("Statistics", "Which seeds?", _seeds),
    ("Statistics", "What failed?", _failures),
    ("Statistics", "Where is a metric undefined?", _undefined),
    ("Computing", "Which program?", _program),
    ("Computing", "On which hardware?", _hardware),
    ("Computing", "On which system?", _systems),
    ("Computing", "With which packages?", _packages),
    ("Computing", "By which commands?", _commands),
    ("Computing", "When?", _dates),
)
