"""Reads files that ``xares run --json`` wrote, strictly."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from codec_superb.applications.xares.result import XaresResult
from codec_superb.field_faults import faults
from codec_superb.pipeline.errors import PipelineError, SubmissionError
from codec_superb.pipeline.tables import strict_json
from codec_superb.strict_json import StrictJsonError, content

FILE_LIMIT = 5_000_000
"""Bytes: both tracks on a hundred codecs are about 2 MB."""


def read_results(paths: Iterable[Path]) -> list[XaresResult]:
    """Read files, and folders with all ``.json`` files in them.

    Raises PipelineError of one sentence for a folder without such files, a file that does not follow the form, and two
    files of which one would take the other's place.
    """
    found: dict[str, Path] = {}
    results = []
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise PipelineError(f"{path}: expected files that `xares run --json` wrote in this folder, found none")
        for file in files:
            result = _read(file)
            if result.name in found:
                raise PipelineError(
                    f"{file}: expected one result of {result.name}, got another in {found[result.name]}; leave one out"
                )
            found[result.name] = file
            results.append(result)
    return results


def _read(file: Path) -> XaresResult:
    try:
        data = content(file, FILE_LIMIT)
    except StrictJsonError as error:
        raise PipelineError(str(error)) from error
    try:
        # strict JSON alone first: pydantic takes a name that comes twice
        return XaresResult.model_validate_json(strict_json.dumps(strict_json.loads(data)), strict=True)
    except SubmissionError as error:
        raise PipelineError(f"{file}: {error}") from error
    except ValidationError as error:
        (_, first), *more = faults(error)
        raise PipelineError(f"{file}: {first}" + (f" ({len(more)} more)" if more else "")) from error
    except UnicodeEncodeError:
        raise PipelineError(f"{file}: expected UTF-8 text, got half of a surrogate pair") from None
