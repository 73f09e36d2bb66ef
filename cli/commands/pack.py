"""``codec-superb pack``: one codec's scored runs become a submission file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codec_superb.cli.console import note, print_json
from codec_superb.cli.options import DEFAULT_SAMPLES, JsonOption, ReadRunsArgument, plain_path
from codec_superb.web.text import count


def command(
    runs: ReadRunsArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="The submission file to write, FILE.zip.")],
    submitter: Annotated[str | None, typer.Option(help="Person or group that answers for it.")] = None,
    contact: Annotated[str | None, typer.Option(help="Mail address or web page for questions.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Listening samples to put in.")] = DEFAULT_SAMPLES,
    card: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="States what the codec's card does not.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Pack the scored runs of one codec, a dataset each, into a submission file that passes `check`.

    Of more than 200,000 clips, or 100 MB, the rows lie in parts beside it, FILE.part-0001-of-0007.zip and so on.
    With --submitter it is for a public board, for which the codec's card must state everything.
    """
    if contact and not submitter:
        raise typer.BadParameter("--contact needs --submitter, the name it belongs to")
    from codec_superb.data_manifests.objects.store_path import place_of
    from codec_superb.pipeline.runs.folder import find_results
    from codec_superb.pipeline.runs.info import is_imported
    from codec_superb.pipeline.submission.pack import pack
    from codec_superb.pipeline.submission.parts.writing import files_of
    from codec_superb.pipeline.submission.schema import Submitter
    from codec_superb.pipeline.submission.statements import unstated

    folders = find_results(map(place_of, runs))
    who = Submitter(name=submitter, contact=contact) if submitter else None
    written = pack(folders, out, submitter=who, samples=samples, card=card, public=who is not None)
    if as_json:
        print_json(
            {
                "file": str(written),
                "parts": [str(part) for part in files_of(written)[1:]],
                "runs": [str(folder.path) for folder in folders],
            }
        )
    else:
        info = folders[0].info()
        custom = ", as custom: shown, never ranked" if info.dataset.location else ""
        missing = unstated(info.card, imported=is_imported(info.provenance))
        if who is None and card is None and missing:
            note(
                f"not for a public board yet: the card does not state {', '.join(missing)}; see --submitter and --card"
            )
        parts = len(files_of(written)) - 1
        beside = f" and {count(parts, 'part')} beside it" if parts else ""
        note(f"packed {count(len(folders), 'run')} into {plain_path(written)}{beside}{custom}")
