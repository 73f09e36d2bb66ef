"""``codec-superb codecs``: list and show codecs, from the catalogue alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.base_codec.errors import UnknownCodec
from codec_superb.cli.arguments import Group
from codec_superb.cli.commands import codecs_env
from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.base_codec.card import Card

app = typer.Typer(help="List codecs, show one codec's card, or manage private environments.", no_args_is_help=True)
app.add_typer(codecs_env.app, name="env", cls=Group)


@app.command("list")
def list_codecs(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None, as_json: JsonOption = False
) -> None:
    """List every codec by family and bitrate."""
    from codec_superb.base_codec import registry, system

    cards = [card for card in map(registry.card, registry.names()) if family in (None, card.family)]
    if not cards:
        families = sorted({registry.card(name).family for name in registry.names()})
        raise UnknownCodec(f"no family is named {family!r}; there are {', '.join(families)}")
    if as_json:
        print_json([card.model_dump(mode="json") | {"origin": registry.distribution(card.name)} for card in cards])
        return
    rows = [
        (
            card.name, card.title, _kbps(card), _rate(card), _seen(card), card.standard, card.licence,
            registry.distribution(card.name),
        )
        for card in cards
    ]  # fmt: skip
    head = ("codec", "title", "kbps", "kHz", "seen", "standard", "licence", "from")
    shown = slice(None) if any(row[-1] for row in rows) else slice(-1)  # a column that is empty says nothing
    spare = ("seen", "standard", "licence")
    print_table("", head[shown], [row[shown] for row in rows], numbers_from=len(head), spare=spare)
    total = f"{count(len(cards), 'codec')} in {count(len({card.family for card in cards}), 'family', 'families')}"
    typer.echo(f"{total}; `codec-superb codecs show NAME` shows a card")
    for sentence in system.missing_of(cards):
        typer.echo(f"not installed: {sentence}")


@app.command("show")
def show(name: str, as_json: JsonOption = False) -> None:
    """Show the card of one codec."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.card import NOT_STATED

    card = registry.card(name)
    if as_json:
        print_json(card.model_dump(mode="json"))
        return
    fields = card.model_dump(mode="json", exclude_none=True, exclude=None if card.kind == "neural" else {"evidence"})
    fields.update(tokens_per_second=card.tokens_per_second) if card.tokens_per_second else None
    fields["lost packets"] = fields.pop("conceals_loss", None) or card.lost_packets
    if card.latency_ms is None and card.causal is not None:
        fields["latency_ms"] = "the whole clip"
    fields |= dict.fromkeys(card.missing_statements(), NOT_STATED)
    if card.kind == "neural":
        fields["evidence"] = f"{_seen(card)}{f', {card.evidence_date}' if card.evidence_date else ''}"
        fields.pop("evidence_date", None)
    rows = [(key, _text(value)) for key, value in fields.items() if value not in ({}, [])]
    rows += [*_repositories(card), *_system(card), *_published(card)]
    print_table(card.title, ("field", "value"), rows, numbers_from=2, folds=True)


def _repositories(card: Card) -> list[tuple[str, str]]:
    """Return a table row for each package that comes from a repository."""
    from codec_superb.base_codec.isolation.lock import open_lock

    found = () if card.isolation is None else open_lock(card.isolation.lock).repositories
    return [("from its repository", f"{each.name}: {each.url} at commit {each.commit}") for each in found]


def _system(card: Card) -> list[tuple[str, str]]:
    """Return a table row that says whether the library or program of the system is installed."""
    from codec_superb.base_codec import system

    return [] if card.system is None else [("installed", "no" if system.missing(card) else system.find(card.system))]


def _published(card: Card) -> list[tuple[str, str]]:
    """Return a table row for each published table with the same configuration."""
    from codec_superb.pipeline.literature.tables import published_as

    found = []
    for table, row in published_as(card.name):
        figures = {f"{category} score": score for category, score in row.scores.items()} | dict(row.applications)
        told = ", ".join(f"{key}={value:.4g}" for key, value in figures.items())
        found.append((f"published: {table.label}, {row.id}", told))
    return found


def _seen(card: Card) -> str:
    """Say what was checked about a neural codec; '' for any other."""
    from codec_superb.base_codec.card import EVIDENCE

    return EVIDENCE[card.evidence] if card.kind == "neural" else ""


def _kbps(card: Card) -> str:
    from codec_superb.base_codec.card import NOT_STATED

    if card.nominal_kbps is None:
        return card.kind if card.kind == "lossless" else NOT_STATED
    return f"{card.nominal_kbps:g}"


def _rate(card: Card) -> str:
    if card.encoder_rates:
        return f"{card.encoder_rates[0] / 1000:g}–{card.encoder_rates[-1] / 1000:g}"
    return "any" if not card.sampling_rate else f"{card.sampling_rate / 1000:g}"


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
