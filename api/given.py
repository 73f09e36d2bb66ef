"""What is given to the Python interface in the wrong kind: one sentence of the usual error for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from codec_superb.api.folder import PREFIX
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.data_manifests.objects.store_path import Place, place_of
from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.workers.devices import Device


def check_codec(codec: object) -> None:
    """Refuse several codecs at once."""
    if isinstance(codec, list | tuple | set | dict):
        raise RefusedSetting(f"expected one codec, got a {type(codec).__name__}: evaluate one at a time, then a + b")


def check_category(category: object) -> None:
    """Refuse what is no category; None is that of the dataset."""
    if category is not None and category not in CATEGORIES:
        raise PipelineError(f"category: expected {_either(CATEGORIES)}, got {category!r}")


def check_limit(limit: Any) -> None:
    """Refuse a limit that is no number of clips."""
    if limit is not None and (not _is_whole(limit) or limit < 1):
        raise PipelineError(f"limit: expected a whole number of clips, at least 1, got {limit!r}")


def check_workers(workers: Any) -> None:
    """Refuse what is no number of processes."""
    if workers is not None and (not _is_whole(workers) or workers < 0):
        raise PipelineError(f"workers: expected a number of processes, or 0 for this process alone, got {workers!r}")


def check_kbps(kbps: object) -> None:
    """Refuse a bitrate that is no number; its range is checked with the codec's card."""
    if kbps is not None and (isinstance(kbps, bool | str) or not hasattr(kbps, "__float__")):
        raise RefusedSetting(f"kbps: expected a bitrate as a number above 0, got {kbps!r}")


def check_budget(budget: Any) -> float | None:
    """Return the money that servers may cost, None for any. Refuse what is no amount."""
    if budget is None:
        return None
    if isinstance(budget, bool | str) or not hasattr(budget, "__float__") or not float(budget) >= 0:
        raise PipelineError(f"budget: expected an amount of money of at least 0, got {budget!r}")
    return float(budget)


def check_device(device: object) -> None:
    """Refuse what is no device."""
    if device not in get_args(Device):
        raise RefusedSetting(f"device: expected {_either(get_args(Device))}, got {device!r}")


def check_there(source: Place) -> None:
    """Refuse a run or a submission that is no more."""
    if not source.exists():
        temporary = any(part.startswith(PREFIX) for part in str(source).split("/"))
        ended = "its temporary folder ended with its result: keep the result, or use out="
        raise PipelineError(f"{source} is not there any more" + (f": {ended}" if temporary else ""))


def places(sources: Sequence[Any]) -> list[Place]:
    """Return sources, paths or URLs, as places that exist."""
    for source in sources:
        if not isinstance(source, str | Path):
            raise PipelineError(f"expected paths, got a {type(source).__name__}: of several write load(a, b)")
    found = [place.expanduser() if isinstance(place, Path) else place for place in map(place_of, sources)]
    if absent := [path for path in found if not path.exists()]:
        raise PipelineError(f"there is no file or folder {absent[0]}: give a folder of runs, or a submission file")
    return found


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
