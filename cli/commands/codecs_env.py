"""``codec-superb codecs env``: private environments of codecs, and models of probes, that fit into no common one."""

from __future__ import annotations

from typing import Annotated

import typer

from codec_superb.base_codec.isolation.environment import Environment, ensure, every_environment, remove
from codec_superb.base_codec.isolation.errors import EnvironmentFailed
from codec_superb.base_codec.isolation.lock import lock_names, open_lock
from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path

app = typer.Typer(
    help="List, build or remove private environments of codecs and of models of probes.", no_args_is_help=True
)


@app.command("list")
def list_environments(as_json: JsonOption = False) -> None:
    """List the private environments: which are built, where, and how large."""
    environments = every_environment()
    if as_json:
        print_json([_facts(environment) for environment in environments])
        return
    rows = [
        (each.name, each.state, _megabytes(each), plain_path(each.folder) if each.folder.exists() else "")
        for each in environments
    ]
    print_table("", ("environment", "state", "MB", "folder"), rows, numbers_from=4, spare=("folder",))


@app.command("build")
def build(names: Annotated[list[str], typer.Argument(metavar="NAME…")], as_json: JsonOption = False) -> None:
    """Build environments by name; one that is there already is left as it is."""
    _refuse_unknown(names, lock_names())
    built = [ensure(open_lock(name), lambda text: typer.echo(text, err=True)) for name in names]
    _report(built, "built", as_json=as_json)


@app.command("remove")
def remove_environments(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME…")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, those no codec asks for included.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove environments by name, or all; the next use of such a codec builds its environment anew."""
    if every == bool(names):
        raise typer.BadParameter("expected names of environments, or --all")
    there = every_environment()
    chosen = there if every else [each for each in there if each.name in (names or [])]
    _refuse_unknown(names or [], [each.name for each in there])
    _report([each for each in chosen if remove(each)], "removed", as_json=as_json)


def _refuse_unknown(names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise EnvironmentFailed(f"no environment is named {name!r}; there are {', '.join(known)}")


def _report(environments: list[Environment], done: str, *, as_json: bool) -> None:
    if as_json:
        print_json([{"name": each.name, "folder": str(each.folder), "done": done} for each in environments])
        return
    for each in environments:
        typer.echo(f"{each.name}: {done} ({plain_path(each.folder)})")
    if not environments:
        typer.echo(f"nothing to be {done}")


def _facts(environment: Environment) -> dict[str, object]:
    return {
        "name": environment.name,
        "state": environment.state,
        "folder": str(environment.folder),
        "installer": environment.installer,
        "bytes": environment.size() if environment.folder.exists() else 0,
    }


def _megabytes(environment: Environment) -> str:
    return f"{environment.size() / 1e6:.0f}" if environment.folder.exists() else ""
