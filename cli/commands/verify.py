"""``codec-superb verify``: run clips of a submission again, or check what somebody signed about one."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from codec_superb.cli.console import TerminalProgress, note, print_json
from codec_superb.cli.options import DeviceOption, JsonOption, WeightsOption, WorkersOption, plain_path
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.pipeline.verification.attestation import Attestation
    from codec_superb.pipeline.verification.statement import Statement

DIFFERS = 3
"""Exit code of a file with faults: here a number did not come out as submitted."""


def command(
    file: Annotated[Path | None, typer.Argument(metavar="FILE.zip", help="Submission file.")] = None,
    clips: Annotated[
        int | None,
        typer.Option(
            min=1, help="Clips of each dataset.", show_default="as many as catch 5 % of forged clips with 99 %"
        ),
    ] = None,
    all_clips: Annotated[bool, typer.Option("--all", help="All clips.")] = False,
    nonce: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="64 hexadecimal digits that draw the clips.", show_default="drawn"),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option("--codec", metavar="FILE.py:NAME", help="A codec that is not of the catalogue: its code is run."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset", metavar="DIR…", help="Folders or manifests of datasets that are not the benchmark's."
        ),
    ] = None,
    probes: Annotated[bool, typer.Option("--probes/--no-probes", help="Run the file's probes again too.")] = True,
    key: Annotated[
        str | None,
        typer.Option(metavar="FILE|KEY", help="Private key that signs; with --attestation the public key."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Signed attestation to write.")] = None,
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the runs, and go on there.", show_default="none are kept")
    ] = None,
    attestation: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Check this attestation; nothing is run.")
    ] = None,
    server: Annotated[str | None, typer.Option(metavar="URL", help="Leaderboard whose keys are believed.")] = None,
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run drawn clips of a submission again and say what differs; exit 0: agrees, 3: differs, 2: cannot be run."""
    if attestation is not None:
        _check(attestation, file, key, server, as_json=as_json)
        return
    if file is None or (clips is not None and all_clips):
        raise typer.BadParameter("expected FILE.zip, and one of --clips and --all, or --attestation FILE.json")
    if (out is None) != (key is None) or server is not None:
        raise typer.BadParameter(
            "--key FILE signs what --out FILE.json holds: both or none; --server: with --attestation"
        )
    from codec_superb.pipeline.output_file import write_output
    from codec_superb.pipeline.verification.again import Rerun
    from codec_superb.pipeline.verification.attestation import sign
    from codec_superb.pipeline.verification.draw import checked_nonce
    from codec_superb.pipeline.verification.keys import load_key
    from codec_superb.pipeline.verification.verify import Asked, verify
    from codec_superb.pipeline.workers.executors import open_executor

    private = None if key is None else load_key(Path(key))  # a wrong key is said before hours of work
    asked = Asked(checked_nonce(nonce or secrets.token_hex(32)), 0 if all_clips else clips)
    with ExitStack() as stack:
        place = runs or Path(stack.enter_context(TemporaryDirectory(prefix="codec-superb-verify-")))
        how = Rerun(place, codec, dataset or (), device, weights, probes)
        progress = stack.enter_context(TerminalProgress())
        pool = stack.enter_context(open_executor("processes", workers))
        statement = verify(file, asked, how, pool=pool, progress=progress)
    if private is not None and out is not None:
        signed = sign(statement, private)
        write_output(out, signed.to_json())
        note(f"signed by the key {signed.fingerprint[:16]}…: {plain_path(out)}")
    _say(statement, as_json=as_json)


def _check(attestation: Path, file: Path | None, key: str | None, server: str | None, *, as_json: bool) -> None:
    """Check an attestation offline against a key, and against the file where that is given."""
    from codec_superb.pipeline.verification.attestation import bytes_of, check_signature, read_attestation
    from codec_superb.pipeline.verification.keys import read_public_key
    from codec_superb.pipeline.verification.verify import check_of_file

    if (key is None) == (server is None):
        raise typer.BadParameter("whose signature? expected --key KEY, a public key, or --server URL of a leaderboard")
    found = read_attestation(bytes_of(attestation))
    if server is not None:
        public, name = _key_of_board(server, found)
    else:
        public, name = read_public_key(key or ""), "the given key"
    check_signature(found, public)
    if file is not None:
        check_of_file(found.statement, file)
    note(f"signed by {name}, {found.fingerprint[:16]}…, {found.statement.made}")
    _say(found.statement, as_json=as_json)


def _key_of_board(server: str, attestation: Attestation) -> tuple[str, str]:
    """Return the board's key that signed, with its name. Raises AttestationError for one that it does not believe."""
    from codec_superb.cli.verification.board_keys import board_key

    found = board_key(server, attestation.fingerprint)
    return found.public_key, found.name


def _say(statement: Statement, *, as_json: bool) -> None:
    if as_json:
        print_json(statement.model_dump(mode="json"))
    else:
        parts = ", ".join(f"{of.drawn} of {count(of.clips, 'clip')} of {of.name}" for of in statement.datasets)
        same = sum(clip.same_sound for clip in statement.clips)
        typer.echo(f"{statement.codec}: {statement.verdict}: run again {parts}; {same} sound the same to the last bit")
        for line in statement.differing():
            typer.echo(f"  {line}")
        for line in statement.left_out:
            typer.echo(f"  not compared: {line}")
        typer.echo(f"  nonce {statement.nonce}")
    if statement.verdict == "differs":
        raise typer.Exit(DIFFERS)
