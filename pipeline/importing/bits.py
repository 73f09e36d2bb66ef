"""Where the bits of sound made elsewhere come from: a table of the user's, tokens, a stated bitrate, or nowhere."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.folders.csv_rows import read_rows
from codec_superb.pipeline.importing.pairing import ClipNames

MOST_BITS = 1 << 53
"""More bits than any clip has; whole numbers up to here are exact in every program that reads the results."""
_COLUMNS = ("clip", "path")


def read_bits(path: Path, names: ClipNames) -> tuple[dict[str, int], list[str]]:
    """Return the bits of each clip, and the names that belong to no clip, from a CSV file.

    Its columns are ``bits`` and one of ``clip`` (the id) and ``path`` (of the file, relative to its folder); others are
    passed over. Raises ManifestError naming the line for what is no whole number of bits, or a clip that comes twice,
    and where no clip has any bits: a silent one may have none, a codec has some.
    """
    bits: dict[str, int] = {}
    unknown: list[str] = []
    for line, cells in read_rows(path, ("bits",)):
        column = next((name for name in _COLUMNS if name in cells), None)
        if column is None:
            raise ManifestError(f"{path} line 1: expected a column clip or path, got {', '.join(cells)}")
        name = cells[column].strip().removeprefix("./")
        clip = names.clip_of(name)
        if clip is None:
            unknown.append(name)
        elif clip in bits:
            raise ManifestError(f"{path} line {line}, column {column}: {clip} was given before")
        else:
            bits[clip] = _bits(cells["bits"].strip(), f"{path} line {line}, column bits")
    if bits and not any(bits.values()):
        raise ManifestError(f"{path}, column bits: expected bits above 0, got 0 for each of {len(bits)} clips")
    return bits, unknown


def _bits(cell: str, where: str) -> int:
    # isascii: isdecimal is true for digits of other scripts too
    if not (cell.isascii() and cell.isdecimal()):
        raise ManifestError(f"{where}: expected the clip's whole number of bits, got {cell[:40]!r}")
    # compared by length first: Python refuses to convert thousands of digits
    if len(cell.lstrip("0")) > len(str(MOST_BITS)) or int(cell) > MOST_BITS:
        raise ManifestError(f"{where}: expected the clip's whole number of bits, {MOST_BITS} at most, got {cell[:40]}")
    return int(cell)
