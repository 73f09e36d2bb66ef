"""``codec-superb datasets``: list, show, prepare, index and check datasets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codec_superb.cli.console import DatasetProgress, TerminalProgress, note, print_json, print_table
from codec_superb.cli.options import CategoryOption, JsonOption, LimitOption, plain_path
from codec_superb.cli.outcomes import CLIPS_FAILED
from codec_superb.cli.selection import dataset_spec
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.data_manifests.manifest import Manifest

app = typer.Typer(help="List datasets, fetch or index their clips, check what is here.", no_args_is_help=True)


@app.command("list")
def list_datasets(as_json: JsonOption = False) -> None:
    """List every dataset and whether its clips are on this machine."""
    from codec_superb.data_manifests.catalogue import announced_manifests, list_manifests
    from codec_superb.data_manifests.clip_list import read_index
    from codec_superb.data_manifests.home import datasets_home

    found = [*((manifest, "") for manifest in list_manifests()), *announced_manifests().values()]
    here = {m.name: index for m, _ in found if (index := read_index(datasets_home() / m.name)) is not None}
    if as_json:
        print_json([
            m.model_dump(mode="json", exclude={"source"}) | {"ready": m.name in here, "origin": origin}
            for m, origin in found
        ])  # fmt: skip
        return
    rows = [
        (m.name, ", ".join(m.categories), str(m.expected_clips.count) if m.expected_clips else "–",
         f"{here[m.name].clips} clips" if m.name in here else _how(m), m.licence, origin)
        for m, origin in found
    ]  # fmt: skip
    head = ("dataset", "category", "published clips", "here", "licence", "from")
    shown = slice(None) if any(origin for _, origin in found) else slice(-1)  # a column that is empty says nothing
    print_table("", head[shown], [row[shown] for row in rows], numbers_from=len(head),
                spare=("category", "published clips", "licence"))  # fmt: skip


def _how(manifest: Manifest) -> str:
    return f"datasets {'prepare' if manifest.is_fetched or manifest.download else 'index'} {manifest.name}"


@app.command("show")
def show(name: str, as_json: JsonOption = False) -> None:
    """Show a dataset: partition, licence, source, citation."""
    from codec_superb.data_manifests.catalogue import load_manifest

    manifest = load_manifest(name)
    if as_json:
        print_json(manifest.model_dump(mode="json"))
        return
    fields = manifest.model_dump(mode="json", exclude_none=True, exclude={"source", "schema_version"})
    for key, value in fields.items():
        text = value.get("text", value.get("count", "")) if isinstance(value, dict) else value
        typer.echo(f"{key + ':':16} {', '.join(text) if isinstance(text, list) else text}")
    typer.echo(f"{'source:':16} {manifest.source.kind}, {getattr(manifest.source, 'url', '') or 'see --json'}")
    if download := manifest.download:
        from codec_superb.data_manifests.published.plan import stated_size

        typer.echo(f"{'download:':16} {stated_size(manifest)}, seen {download.seen}: {download.source}")


@app.command("prepare")
def prepare(
    name: str,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Where a published dataset goes.", show_default="below CODEC_SUPERB_HOME"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Fetch without a question.")] = False,
    accept_licence: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A licence that you agree to, as `prepare` names it.")
    ] = None,
    remove_archives: Annotated[
        bool, typer.Option("--remove-archives", help="Remove the archives when they are unpacked.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fetch a dataset, check it, unpack what is needed of it, and list its clips; a second call goes on."""
    from codec_superb.data_manifests import prepare as prepare_dataset
    from codec_superb.data_manifests.catalogue import load_manifest

    manifest = load_manifest(name)
    if manifest.download:
        _prepare_published(manifest, folder, accept_licence or (), yes=yes, remove=remove_archives, as_json=as_json)
        return
    if folder or accept_licence or remove_archives:
        raise typer.BadParameter(
            f"{name} has no place to choose, licence to agree to or archives: leave the options out"
        )
    with TerminalProgress() as progress:
        report = prepare_dataset(name, DatasetProgress(progress))
    made = f"{report.made} made now" if report.made else "all there before"
    line = f"{name}: {report.clips} clips, {report.seconds / 60:.1f} minutes, {made}, in {report.folder}"
    _tell(report, [line], as_json=as_json)


def _prepare_published(
    manifest: Manifest, folder: Path | None, accepted: Sequence[str], *, yes: bool, remove: bool, as_json: bool
) -> None:
    """Say size, licence and place; ask; fetch and index."""
    from codec_superb.data_manifests.published.plan import plan
    from codec_superb.data_manifests.published.prepare import check_agreement, elsewhere, prepare_published

    if folder is None and (index := elsewhere(manifest)):
        line = f"{manifest.name}: {index.clips} clips, all there before, in {index.root}"
        _tell(index, [line], as_json=as_json)
        return
    told: list[str] = []

    def say(lines: Sequence[str]) -> None:
        told.extend(lines)
        note("\n".join(lines))

    what = plan(manifest, folder, say=say)
    if not what.done:
        say(what.lines()[: 1 if told else None])  # the servers have only stated the size since
        check_agreement(what, accepted)
        _ask(what.size, yes=yes)
    with TerminalProgress() as progress:
        done = prepare_published(what, DatasetProgress(progress), accepted=accepted, remove_archives=remove)
    for sentence in done.notes:
        note(sentence)
    line = f"{manifest.name}: {done.index.clips} clips, all there before, in {what.folder}"
    _tell(done.report or done.index, done.report.lines() if done.report else [line], as_json=as_json)


def _ask(size: str, *, yes: bool) -> None:
    from codec_superb.data_manifests.errors import DatasetError

    if yes:
        return
    if not sys.stdin.isatty():
        raise DatasetError(f"nobody can be asked here whether to fetch this ({size}): add --yes")
    if not typer.confirm("Fetch it?", err=True):
        raise typer.Exit(2)


@app.command("index")
def index(
    name: str,
    root: Annotated[
        str | None, typer.Option(metavar="DIR|URL", help="The publisher's folder, as it was unpacked, or its URL.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Commit or tag of a dataset of the Hugging Face hub.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Build a dataset's clip list, with labels, from the publisher's own folder layout."""
    from codec_superb.data_manifests.indexing.index import index as index_dataset

    with TerminalProgress() as progress:
        report = index_dataset(name, root, DatasetProgress(progress), revision=revision)
    _tell(report, report.lines(), as_json=as_json)


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="A dataset by name, or a folder or a file of audio.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the WAV files and index.csv are written.")],
    limit: LimitOption = None,
    category: CategoryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the references as mono WAV files with an index, for a codec that runs elsewhere; see `import`."""
    from codec_superb.pipeline.importing.references import INDEX, export_references

    with TerminalProgress() as progress:
        done = export_references(dataset_spec(name), folder, limit=limit, category=category, progress=progress)
    line = f"{name}: {count(done.clips, 'file')} and {INDEX} in {plain_path(folder)}, {done.done} written now"
    _tell(done, [line, *(f"  failed: {clip}: {reason}" for clip, _, reason in done.failed)], as_json=as_json)
    if done.failed:
        raise typer.Exit(CLIPS_FAILED)


@app.command("make")
def make(
    name: Annotated[
        str, typer.Argument(help="Dataset whose texts are spoken, by name, a folder, or a table of texts.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the recordings and labels.csv are written.")],
    command: Annotated[
        str, typer.Option("--command", metavar="WORDS", help="Program that speaks {text} into {out}; no shell runs it.")
    ],
    label: Annotated[str, typer.Option(metavar="LABEL", help="What is spoken: text, question or extra:NAME.")] = "text",
    language: Annotated[
        str | None, typer.Option(metavar="TAG", help="Language of the texts, where it is not their clips' own.")
    ] = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a program speak the texts of a dataset, and keep what it said as a dataset of its own."""
    from codec_superb.pipeline.importing.spoken import speak_dataset

    with TerminalProgress() as progress:
        done = speak_dataset(
            dataset_spec(name), folder, command, label=label, language=language, limit=limit, progress=progress
        )
    line = f"{name}: {count(done.clips, 'text')} spoken in {plain_path(folder)}, {done.done} now"
    line += f", {done.left_out} without {label} left out" if done.left_out else ""
    _tell(done, [line, *(f"  failed: {clip}: {reason}" for clip, _, reason in done.failed)], as_json=as_json)
    if done.failed:
        raise typer.Exit(CLIPS_FAILED)


@app.command("check")
def check(name: str, as_json: JsonOption = False) -> None:
    """Decode and hash every clip of a dataset or folder; exit 3 when one is missing or damaged."""
    from codec_superb.data_manifests import check as check_dataset

    with TerminalProgress() as progress:
        report = check_dataset(dataset_spec(name), DatasetProgress(progress))
    whole = f" of {report.expected_clips}" if report.expected_clips else ""
    lines = [f"{name}: {count(report.clips, 'clip')}{whole}"]
    lines += [f"  missing: {clip}" for clip in report.missing]
    lines += [f"  damaged: {clip}: {reason}" for clip, reason in report.corrupt]
    lines += [f"  not in the list: {clip}" for clip in report.extra]
    lines += [f"  {count(report.ignored, 'other file')} ignored"] if report.ignored else []
    _tell(report, [*lines, "  all right" if report.right else "  not right"], as_json=as_json)
    if not report.right:
        raise typer.Exit(3)


def _tell(report: Any, lines: Sequence[str], *, as_json: bool) -> None:
    """Print a report (a dataclass, or a record) as lines or as JSON."""
    if as_json:
        print_json(report.model_dump(mode="json") if hasattr(report, "model_dump") else asdict(report))
    else:
        typer.echo("\n".join(lines))
