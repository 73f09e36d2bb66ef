"""``codec-superb admin listening``: listening tests, from the definition to the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.cli.server_database import ACTOR, server_transaction
from codec_superb.cli.server_options import DatabaseOption, StorageOption, server_settings

if TYPE_CHECKING:
    from codec_superb.server.listening_tests.definition import Definition

app = typer.Typer(help="Listening tests: AB, ABX, MUSHRA, ACR and DCR.", no_args_is_help=True)

TestArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of a test, as `admin listening list` shows it.")]


@app.command("create")
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The definition, see docs/listening-tests.md.")],
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="Take the sounds of these runs, without loss.",
                     show_default="the samples of the codecs' submissions, which have passed Opus"),
    ] = None,
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Make a test as a draft: sounds, anchors and gold questions are made here and stored with it."""
    server_settings(database, storage)  # first: sounds take long to make, wrong settings should show before
    from codec_superb.cli.listening_sounds import read_definition

    definition = read_definition(file)
    identity, clips = _stored(definition, file.parent, runs, database, storage)
    if as_json:
        print_json({"test": identity, "kind": definition.kind, "clips": clips, "state": "draft"})
    else:
        typer.echo(f"{identity}: {definition.title}, a draft with {len(clips)} clips; open it: ")
        typer.echo(f"codec-superb admin listening open {identity}")


def _stored(
    definition: Definition, folder: Path, runs: Path | None, database: str | None, storage: Path | None
) -> tuple[str, tuple[str, ...]]:
    import secrets

    from codec_superb.cli import listening_sounds as sounds

    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.compare.service import find_submissions
        from codec_superb.server.listening_tests.definition import TestSettings
        from codec_superb.server.listening_tests.service import create

        submissions = {}
        if runs is not None:
            clips = list(sounds.clips_of_runs(definition, runs))
        else:
            found = find_submissions(session, definition.codecs)
            submissions = {each.codec.name: each.id for each in found}
            clips = list(sounds.clips_of_samples(session, definition, found, server_settings(database, storage)))
        settings = TestSettings(
            **definition.model_dump(), found=tuple(clip.clip for clip in clips),
            # the column is a signed integer of 32 bits
            source=sounds.source_of(definition, runs), seed=secrets.randbits(31),
        )  # fmt: skip
        made = [
            *sounds.stimuli(definition, clips, submissions, len(settings.gold_clips)),
            *sounds.trap_stimuli(definition, folder),
        ]
        return create(session, settings, made, actor=ACTOR).id, settings.found


@app.command("list")
def list_tests(database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List all tests with their state and listeners."""
    with server_transaction(database, storage) as session:
        from codec_superb.server.database.listening import TEST_STATES
        from codec_superb.server.listening_tests import repository, summary

        lines = [summary.line(session, test) for test in repository.in_states(session, TEST_STATES)]
    data = [
        {"test": line.id, "kind": line.kind, "state": line.state, "created": line.created, "began": line.started,
         "finished": line.finished, "title": line.title}
        for line in lines
    ]  # fmt: skip
    if as_json:
        print_json(data)
        return
    head = ("test", "kind", "state", "created", "began", "finished", "title")
    print_table("", head, [tuple(str(entry[name]) for name in head) for entry in data], numbers_from=len(head))


@app.command("open")
def open_test(
    test: TestArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """Let people take part in a draft."""
    _advance(test, "open", database, storage, as_json=as_json)


@app.command("close")
def close_test(
    test: TestArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """End an open test: its results become public."""
    _advance(test, "closed", database, storage, as_json=as_json)


@app.command("results")
def results(
    test: TestArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """Show the results of a test of any state."""
    with server_transaction(database, storage) as session:
        from dataclasses import asdict

        from codec_superb.server.listening_tests import service, summary
        from codec_superb.web.site.listening_tests import words
        from codec_superb.web.text import p_value

        found = summary.results(session, service.found(session, test))
    if as_json:
        print_json(asdict(found))
        return
    typer.echo(f"{found.title}: {found.started} began, {found.finished} finished, {found.counted} count")
    for left in found.left_out:
        typer.echo(f"  {left.participants} {left.reason}")
    if found.conditions:
        rows = [
            (each.condition, words.mean_of(each, found.kind), words.span(each.median, None, None), str(each.n))
            for each in found.conditions
        ]
        print_table("", ("condition", "mean [95 %]", "median", "n"), rows)
    if found.pairs:
        pairs = [
            (each.first, each.second, words.percent(each.share, each.low, each.high), p_value(each.p),
             str(each.n))
            for each in found.pairs
        ]  # fmt: skip
        print_table("", ("first", "second", "share [95 %]", "p", "n"), pairs, numbers_from=2)


@app.command("bind")
def bind(
    test: TestArgument,
    submission: Annotated[str, typer.Argument(metavar="SUBMISSION", help="Id of a public submission of the codec.")],
    database: DatabaseOption = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that a codec's sounds in a test are those of a submission: its page shows the results."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.listening_tests.service import bind as bind_sounds

        codec = bind_sounds(session, test, submission, actor=ACTOR)
    if as_json:
        print_json({"test": test, "codec": codec, "submission": submission})
    else:
        typer.echo(f"{test}: {codec} is that of submission {submission}")


@app.command("remove")
def remove(
    test: TestArgument, database: DatabaseOption = None, storage: StorageOption = None, as_json: JsonOption = False
) -> None:
    """Delete a draft or a closed test with its sounds and answers."""
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.listening_tests.service import remove as remove_test

        remove_test(session, test, actor=ACTOR)
    if as_json:
        print_json({"removed": test})
    else:
        typer.echo(f"{test} is removed")


def _advance(test: str, state: str, database: str | None, storage: Path | None, *, as_json: bool) -> None:
    with server_transaction(database, storage, write=True) as session:
        from codec_superb.server.listening_tests.service import advance

        advance(session, test, state, actor=ACTOR)
    if as_json:
        print_json({"test": test, "state": state})
    else:
        typer.echo(f"{test} is {state}: {server_settings(database, storage).base_url.rstrip('/')}/listening/{test}")
