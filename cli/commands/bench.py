"""``codec-superb bench``: prepare, resynthesise, score, probe, pack and report in one call, skipping finished work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb import __version__
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.console import TerminalProgress, note, print_json, print_prose, print_table
from codec_superb.cli.options import (
    DEFAULT_SAMPLES,
    ApplicationOption,
    BackendOption,
    BatchOption,
    BudgetOption,
    CategoryOption,
    CodecOption,
    CompileOption,
    ConditionOption,
    DatasetOption,
    DeviceOption,
    DtypeOption,
    ExecutorOption,
    JsonOption,
    JudgeOption,
    KbpsOption,
    LimitOption,
    MetricOption,
    OutOption,
    OverwriteOption,
    PesqOption,
    ReferenceOption,
    TasksOption,
    WeightsOption,
    WorkersOption,
    plain_path,
)
from codec_superb.cli.outcomes import as_data, exit_code, print_failures
from codec_superb.cli.selection import (
    application_names,
    codec_names,
    conditions_of,
    dataset_specs,
    prepare_fetched,
    protocol,
)
from codec_superb.metrics.table import METRICS
from codec_superb.web import text

if TYPE_CHECKING:
    from codec_superb.cli.console import Board
    from codec_superb.metrics.results import ResultSummary
    from codec_superb.pipeline.comparison.results import Results
    from codec_superb.pipeline.runs.outcome import RunOutcome
    from codec_superb.web.rows import CodecResult

DATASETS = ("mini",)
CODECS = (
    "codec2_700", "codec2_3200", "amrnb_12.2k", "opus_6k", "opus_12k", "opus_24k", "opus_64k", "opus_128k", "lc3_32k",
    "mp3_64k", "mp3_128k", "aac_64k", "g711_alaw", "g722_64k", "lyra_3.2k", "lyra_6k", "lyra_9.2k",
)  # fmt: skip
"""Codecs of telephony, radio and music streaming from 0.7 to 128 kbps, and a neural one that needs no torch."""
_DECIMALS = 3
_HEAD = ("rank", "codec", "kbps", "score", "95 % interval")
SUMMARY = "bench.json"
_SUMMARY_KEYS = {"fingerprint", "files", "ranking", "conditions", "applications", "verdict", "limited"}
_SHOWN_KEYS = ("ranking", "conditions", "applications", "verdict")


def command(
    codec: CodecOption = None,
    dataset: DatasetOption = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="Datasets and applications of a protocol: codec_superb, speech, audio, music, ultraeval, mini.",
        ),
    ] = None,
    available: Annotated[bool, typer.Option("--available", help="Of a suite, run what is on this machine.")] = False,
    condition: ConditionOption = None,
    reference: ReferenceOption = "clean",
    out: OutOption = Path("runs"),
    report: Annotated[Path | None, typer.Option(help="The page to write.", show_default="<out>/report.html")] = None,
    metric: MetricOption = None,
    application: ApplicationOption = None,
    backend: BackendOption = None,
    tasks: TasksOption = None,
    judge: JudgeOption = "",
    budget: BudgetOption = None,
    probe_codec: Annotated[
        list[str] | None,
        typer.Option("--probe-codec", metavar="NAME…", help="Codecs that are probed.", show_default="all"),
    ] = None,
    pesq_backend: PesqOption = "fast",
    category: CategoryOption = None,
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    dtype: DtypeOption = "float32",
    compile_model: CompileOption = False,
    kbps: KbpsOption = None,
    batch: BatchOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    limit: LimitOption = None,
    overwrite: OverwriteOption = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show the ranking while clips are scored.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Benchmark codecs on datasets, end to end; without options, 14 classical codecs and Lyra V2 on `mini`."""
    from codec_superb.applications.catalogue import choose
    from codec_superb.applications.plugged import adopt
    from codec_superb.metrics.plugged import find_metrics
    from codec_superb.pipeline.probing.choice import check_probes_possible
    from codec_superb.pipeline.probing.stage import probe
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.scoring.stage import score
    from codec_superb.pipeline.workers.executors import open_executor

    conditions = conditions_of(condition, reference)
    options = CodecOptions(weights, dtype, compile_model, kbps)
    left_out = {} if codec else _unobtainable(CODECS, options)
    codecs = [name for name in codec_names(codec or CODECS) if name not in left_out]
    named = dataset_specs(dataset or ())
    datasets, applications = protocol(suite, named, application_names(application), available=available)
    datasets = datasets or list(DATASETS)
    choices = choose(adopt(applications, tasks or ()), backend or ())
    find_metrics(metric or ())
    _refuse_mixture(datasets)
    with TerminalProgress() as progress:
        prepare_fetched(datasets, progress)
        if choices:
            check_probes_possible(datasets, choices, category=category, limit=limit, judge=judge)
        with open_executor(executor, workers, device=device, tell=progress.message) as pool:
            outcomes = resynthesise(
                codecs, datasets, out=out, conditions=conditions, device=device, options=options, batch=batch,
                limit=limit, overwrite=overwrite, category=category, progress=progress, executor=pool,
            )  # fmt: skip
            runs = [outcome.path for outcome in outcomes]
            if watch:
                progress.watch(_live_ranking(runs))
            outcomes += score(
                runs, metrics=metric, overwrite=overwrite, backends=(("pesq", str(pesq_backend)),), progress=progress,
                executor=pool,
            )  # fmt: skip
            progress.watch(None)
            if choices:
                probed = _probed(runs, probe_codec, left_out)
                outcomes += probe(
                    probed, applications=applications, backends=backend or (), tasks=tasks or (), codecs=codecs,
                    codec_weights=weights, judge=judge, budget=budget, device=device, overwrite=overwrite,
                    progress=progress, executor=pool,
                )  # fmt: skip
    print_failures(outcomes)
    page = report or out / "report.html"
    summary = _publish(runs, out, page)
    _print(summary, outcomes, page, as_json=as_json)
    for why in dict.fromkeys(left_out.values()):
        note(f"left out: {why}")
    raise typer.Exit(exit_code(outcomes))


def _live_ranking(runs: Sequence[Path]) -> Board:
    from codec_superb.cli.ranking.live import LiveRanking

    return LiveRanking(runs)


def _unobtainable(names: Sequence[str], options: CodecOptions) -> dict[str, str]:
    """Return the codecs that lack a package, a library of the system or weights here, and why; one reason a family."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.errors import MissingDependency, MissingWeights
    from codec_superb.base_codec.readiness import check_ready

    families: dict[str, list[str]] = {}
    for card in map(registry.card, names):
        families.setdefault(card.family, []).append(card.name)
    why: dict[str, str] = {}
    for its in families.values():
        try:
            check_ready(its, options)
        except (MissingDependency, MissingWeights) as error:
            why |= dict.fromkeys(its, str(error))
    return why


def _probed(runs: Sequence[Path], chosen: Sequence[str] | None, left_out: Container[str]) -> list[Path]:
    """Return the runs that are probed: those of ``chosen`` codecs that were not left out, or all."""
    if not chosen:
        return list(runs)
    names = [name for name in codec_names(chosen) if name not in left_out]
    found = [run for run in runs if run.parent.name.partition("@")[0] in names]  # also those under a condition
    if missing := [name for name in names if all(run.parent.name != name for run in found)]:
        raise typer.BadParameter(f"--probe-codec {', '.join(missing)}: expected codecs of this benchmark")
    return found


def _refuse_mixture(datasets: Sequence[str]) -> None:
    """Refuse datasets of the benchmark together with custom ones, which one submission cannot hold, before any work."""
    from codec_superb.data_manifests.catalogue import manifest_names
    from codec_superb.pipeline.errors import PipelineError

    own = [name for name in datasets if name not in manifest_names()]
    if own and len(own) < len(datasets):
        raise PipelineError(
            f"datasets of the benchmark and custom ones ({', '.join(own)}) are never packed together: benchmark them "
            "apart, each with its own --out"
        )


def _publish(runs: Sequence[Path], out: Path, page: Path) -> dict[str, Any]:
    """Write the submissions, the page and the ranking, unless those of the same results exist."""
    fingerprint = _fingerprint(runs)
    before = _read_summary(out / SUMMARY)
    if (
        before
        and before["fingerprint"] == fingerprint
        and page.is_file()
        and all(map(Path.is_file, map(Path, before["files"])))
    ):
        return before
    from codec_superb.cli import application_matrix as figure_matrix
    from codec_superb.cli.commands.report import load, rank, write
    from codec_superb.cli.ranking.verdict import verdict
    from codec_superb.cli.report_data import codec_results, results_under_conditions
    from codec_superb.pipeline.output_file import write_output

    files = _pack(runs, out)
    results = load(runs)
    rankings = rank(results)
    write(results, rankings, page)
    summary = {
        "fingerprint": fingerprint,
        "files": files,
        "ranking": _as_data(codec_results(results, rankings)),
        "conditions": _as_data(results_under_conditions(results)),
        "applications": figure_matrix.as_data(results),
        "verdict": verdict(results, rankings),
        "limited": _limited(results),
    }
    # RFC 8259 has no NaN
    write_output(out / SUMMARY, json.dumps(summary, indent=1, allow_nan=False).encode())
    return summary


def _limited(results: Sequence[Results]) -> dict[str, str]:
    """Return how much of a dataset was run, by its name; without those that were run whole."""
    clips: dict[str, int] = {}
    taken: dict[str, set[int]] = {}
    for info in (dataset.info for entry in results for dataset in entry.datasets):
        clips[info.name] = info.clips
        taken.setdefault(info.name, set()).add(info.selected)
    return {
        name: f"{' to '.join(map(str, sorted({min(some), max(some)})))} of {text.count(clips[name], 'clip')}"
        for name, some in taken.items()
        if min(some) < clips[name]
    }


def _fingerprint(runs: Sequence[Path]) -> str:
    """Hash the inputs of the published files: the runs, and the probes whose figures this process can compute."""
    from codec_superb.applications.table import PROBES

    digest = hashlib.sha256(f"{__version__} {' '.join(PROBES)}".encode())
    for run in sorted(runs):
        for name in ("run.json", "clips.parquet", "pairs.parquet", "vectors.parquet"):
            digest.update(f"{run}/{name}".encode())
            digest.update((run / name).read_bytes() if (run / name).is_file() else b"")
    return digest.hexdigest()


def _read_summary(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        _rows(data["ranking"] + data["conditions"])
    except (OSError, ValueError, KeyError, TypeError):  # none yet, or another program's: it is written anew
        return None
    return data if isinstance(data, dict) and data.keys() >= _SUMMARY_KEYS else None


def _pack(runs: Sequence[Path], out: Path) -> list[str]:
    """Write one submission a codec and condition, ``<out>/<codec>.zip`` and ``<out>/<codec>@<condition>.zip``."""
    from codec_superb.pipeline.submission.pack import pack

    by_codec: dict[str, list[Path]] = {}
    for run in runs:
        by_codec.setdefault(run.parent.name, []).append(run)
    files = []
    for codec, folders in by_codec.items():
        if any(map(_is_random, folders)):
            note(f"{codec}: untrained weights: measured, never packed")
            (out / f"{codec}.zip").unlink(missing_ok=True)  # of other weights: these runs have replaced it
            continue
        files.append(str(pack(folders, out / f"{codec}.zip", samples=DEFAULT_SAMPLES)))
    return files


def _is_random(run: Path) -> bool:
    """Whether a run's codec or one of its probe models has untrained weights; ``pack`` refuses such runs."""
    from codec_superb.pipeline.runs.folder import RunFolder

    info = RunFolder(run).info()
    weights = info.card.weights
    return (weights is not None and weights.source == "random") or any(of.random for of in info.probes.values())


def _print(summary: dict[str, Any], outcomes: Sequence[RunOutcome], page: Path, *, as_json: bool) -> None:
    from codec_superb.cli.application_matrix import print_matrix
    from codec_superb.cli.ranking.verdict import BREAK

    if as_json:
        files = {"report": str(page), "submissions": summary["files"]}
        shared = {key: summary[key] for key in _SHOWN_KEYS}
        shared["verdict"] = {name: told.replace(BREAK, " ") for name, told in shared["verdict"].items()}
        print_json({**shared, "runs": as_data(outcomes), **files})
    else:
        limited = summary["limited"]
        _print_ranking(_rows(summary["ranking"]), limited)
        _print_ranking(_rows(summary["conditions"]), limited, "under conditions, which are never ranked: ")
        for name, amount in limited.items():
            print(f"{name}: {amount} of the dataset were run (--limit)\n")
        print_matrix(summary["applications"], [row["codec"] for row in summary["ranking"]])
        if summary["files"]:
            note(f"submissions: {len(summary['files'])} in {plain_path(Path(summary['files'][0]).parent)}/*.zip")
        for sentence in summary["verdict"].values():
            print_prose(sentence)
        typer.echo(f"report: {plain_path(page)}")


def _rows(ranking: Sequence[dict[str, Any]]) -> list[CodecResult]:
    """Convert the stored ranking to rows."""
    from pydantic import TypeAdapter

    from codec_superb.web.rows import CodecResult

    return TypeAdapter(list[CodecResult]).validate_python(ranking)


def _as_data(rows: Sequence[CodecResult]) -> list[dict[str, Any]]:
    """Return the ranking as plain data for ``--json``."""
    from pydantic import TypeAdapter

    from codec_superb.web.rows import CodecResult

    found: list[dict[str, Any]] = TypeAdapter(list[CodecResult]).dump_python(list(rows), mode="json")
    return found


def _print_ranking(rows: Sequence[CodecResult], limited: Container[str], prefix: str = "") -> None:
    """Print a table for each category that has results; ``prefix`` begins their titles."""
    for category in dict.fromkeys(row.summary.category for row in rows):
        chosen = [row for row in rows if row.summary.category == category]
        keys = [key for key, metric in METRICS.items() if category in metric.overall and key in _measured(chosen)]
        arrows = [f"{key} {'↑' if METRICS[key].higher_is_better else '↓'}" for key in keys]
        head = (*_HEAD, *arrows, "clips")
        print_table(
            f"{prefix}{_title(chosen)}", head, [_cells(row, keys, limited) for row in chosen], numbers_from=2,
            spare=arrows,
        )  # fmt: skip
        print()
    if any(row.uncounted for row in rows):
        print("declared, not stated: bitrates that nobody counted; such codecs are not ranked among measured ones\n")
    if any(_is_incomplete(row.summary, limited) for row in rows):
        print("incomplete: clips or metrics failed\n")


def _is_incomplete(summary: ResultSummary, limited: Container[str]) -> bool:
    """Whether something failed; clips that --limit left out are said below the tables, not of each codec."""
    if summary.complete or not any(name in limited for name in summary.datasets):
        return not summary.complete
    own = [found for key, found in summary.metrics.items() if key in METRICS]
    return summary.failed > 0 or any(found.failed or found.n + found.undefined < summary.clips for found in own)


def _measured(rows: Sequence[CodecResult]) -> set[str]:
    return {key for row in rows for key in row.summary.metrics}


def _title(rows: Sequence[CodecResult]) -> str:
    datasets = ", ".join(dict.fromkeys(name for row in rows for name in row.summary.datasets))
    return f"{rows[0].summary.category} ({datasets}, {text.count(max(row.summary.clips for row in rows), 'clip')})"


def _cells(row: CodecResult, keys: Sequence[str], limited: Container[str]) -> tuple[str, ...]:
    summary = row.summary
    marks = (" lossless" if row.lossless else "") + (" incomplete" if _is_incomplete(summary, limited) else "")
    score, clips = summary.score, f"{summary.ok}/{summary.clips}"
    estimates = (summary.metrics.get(key) for key in keys)
    numbers = (text.number(None if found is None else found.mean, _DECIMALS) for found in estimates)
    value, ends = text.number(score.value, _DECIMALS), text.interval(score.low, score.high, _DECIMALS)
    rate = row.rate_mark if row.bit_source == "unknown" else f"{text.kbps(row.kbps)} {row.rate_mark}".rstrip()
    return (text.rank(row.rank), row.codec + marks, rate, value, ends, *numbers, clips)
