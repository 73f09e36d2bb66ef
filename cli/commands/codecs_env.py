"""``codec-superb codecs env``: list, build and remove the private environments of codecs and probe models."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption, plain_path

if TYPE_CHECKING:
    from codec_superb.base_codec.isolation.environment import Environment

app = typer.Typer(
    help="List, build or remove private environments of codecs and of models of probes.", no_args_is_help=True
)


@app.command("list")
def list_environments(as_json: JsonOption = False) -> None:
    """List the private environments: which are built, where, and how large."""
    from codec_superb.base_codec.isolation.environment import all_environments

    environments = all_environments()
    if as_json:
        print_json([_facts(environment) for environment in environments])
        return
    rows = [
        (
            each.name,
            each.state,
            _megabytes(each),
            _source(each),
            plain_path(each.folder) if each.folder.exists() else "",
        )
        for each in environments
    ]
    head = ("environment", "state", "MB", "source", "folder")
    print_table("", head, rows, numbers_from=len(head), spare=("folder",))


@app.command("build")
def build(names: Annotated[list[str], typer.Argument(metavar="NAME…")], as_json: JsonOption = False) -> None:
    """Build environments, named by environment, family or codec; existing ones are left unchanged.

    With -cuda behind the name (snac-cuda) it is the environment for graphics cards, of several gigabytes.
    """
    from codec_superb.base_codec.isolation.lock import lock_names

    known = lock_names()
    locks = dict.fromkeys(_named(name, known) for name in names)
    _report([_ensured(lock) for lock in locks], as_json=as_json)


@app.command("remove")
def remove_environments(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME…")] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, including outdated ones.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove environments, named as for ``build``, or all; the next use of such a codec rebuilds its environment."""
    from codec_superb.base_codec.isolation.environment import all_environments, remove

    if every == bool(names):
        raise typer.BadParameter("expected names of environments, or --all")
    there = all_environments()
    known = [each.name for each in there]
    chosen = known if every else [_named(name, known) for name in names or []]
    gone = [(each, "removed") for each in there if each.name in chosen and remove(each)]
    _report(gone, as_json=as_json)
    if not gone and not as_json:
        typer.echo("nothing to remove")


def _ensured(lock: str) -> tuple[Environment, str]:
    """Return an environment, built if necessary, and whether it was built in this call."""
    from codec_superb.base_codec.isolation.environment import ensure_built
    from codec_superb.base_codec.isolation.lock import open_lock

    announced: list[str] = []  # only a build is announced

    def announce(text: str) -> None:
        announced.append(text)
        typer.echo(text, err=True)

    environment = ensure_built(open_lock(lock), announce)
    return environment, "built" if announced else "there already"


def _named(name: str, known: list[str]) -> str:
    """Resolve a name to an environment. Raises EnvironmentFailed where there is none, or the codec needs none."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.isolation.errors import EnvironmentFailed
    from codec_superb.base_codec.isolation.lock import FOR_CUDA

    if name in known:
        return name
    if name.endswith(FOR_CUDA):
        return _named(name.removesuffix(FOR_CUDA), known) + FOR_CUDA
    cards = [registry.card(each) for each in registry.names()]
    meant = [card for card in cards if name in (card.name, card.family)]
    for card in meant:
        if card.isolation is not None:
            return card.isolation.lock
    if meant:
        raise EnvironmentFailed(f"{name} needs no private environment: it runs in the main one")
    raise EnvironmentFailed(f"no environment, family or codec is named {name!r}; environments: {', '.join(known)}")


def _report(environments: list[tuple[Environment, str]], *, as_json: bool) -> None:
    """Print what was done with each environment."""
    if as_json:
        print_json([{"name": each.name, "folder": str(each.folder), "done": done} for each, done in environments])
        return
    for each, done in environments:
        typer.echo(f"{each.name}: {done} ({plain_path(each.folder)})")


def _facts(environment: Environment) -> dict[str, object]:
    return {
        "name": environment.name,
        "state": environment.state,
        "folder": str(environment.folder),
        "installer": environment.installer,
        "bytes": environment.size() if environment.folder.exists() else 0,
        "repositories": [asdict(each) for each in environment.repositories],
    }


def _source(environment: Environment) -> str:
    """Return a mark for environments with packages from repositories."""
    return "from its repository" if environment.repositories else ""


def _megabytes(environment: Environment) -> str:
    return f"{environment.size() / 1e6:.0f}" if environment.folder.exists() else ""
