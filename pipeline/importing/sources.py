"""What an import is made of: the files of a folder by clip, their bits, and the list of what does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mode

from codec_superb.data_manifests import Dataset
from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES, read_audio, read_header
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.files import file_stamp
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.importing.bits import read_bits
from codec_superb.pipeline.importing.clip import Source
from codec_superb.pipeline.importing.names import reference_names
from codec_superb.pipeline.importing.pairing import ClipNames, Pairing, pair_files
from codec_superb.pipeline.importing.token_files import TOKEN_ENDINGS, WrongTokens, codebooks_of

_SHOWN = 3
_LOOKED_AT = 9
"""Files of tokens that tell the number of codebooks: a single wrong one shall not."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a folder, by the clips of a dataset."""

    folder: Path
    audio: Pairing
    tokens_folder: Path
    tokens: Pairing | None = None
    """None where no tokens are taken."""
    bits: dict[str, int] | None = None
    """Bits by clip, where a file states them."""
    strangers: list[str] = field(default_factory=list)
    """Files and lines that belong to no clip, each with what it is."""

    @property
    def measured(self) -> bool:
        """Whether each clip's bits are known."""
        return self.tokens is not None or self.bits is not None

    def of(self, clip: str) -> Source | str:
        """Return what the row of a clip is made of, or what is wrong."""
        tokens, bits = "", None
        audio, wrong = _one(self.audio, clip, "resynthesis", self.folder)
        if self.tokens is not None and not wrong:
            tokens, wrong = _one(self.tokens, clip, "file of tokens", self.tokens_folder)
        if self.bits is not None and not wrong:
            bits = self.bits.get(clip)
            wrong = "" if bits is not None else "there is no line for it in --bits"
        return wrong or Source(audio, tokens, bits)

    def highest_rate(self) -> int:
        """Return the highest rate of the files in Hz. Raises AudioFileError where none can be read."""
        files = [self.folder / name for name in self.audio.files.values()]
        rates = [header[0] for file in files if (header := _header(file))]
        if rates:
            return max(rates)
        # not of libsndfile's formats, damaged, or gone: the last one's error is as good as any
        for file in files[:-1]:
            with suppress(AudioFileError):
                return read_audio(file)[1]
        return read_audio(files[-1])[1]

    def codebooks(self) -> int | None:
        """Return the usual number of codebooks in the tokens of the first clips; None where no tokens are taken.

        Raises PipelineError where none can be read.
        """
        if self.tokens is None:
            return None
        found, wrong = [], "no file belongs to a clip"
        for clip in sorted(self.tokens.files)[:_LOOKED_AT]:
            try:
                found.append(codebooks_of(self.tokens_folder / self.tokens.files[clip]))
            except WrongTokens as error:
                wrong = str(error)
        if not found:
            raise PipelineError(f"no tokens can be read in {self.tokens_folder}: {wrong}")
        return mode(found)


def find_sources(
    folder: Path,
    dataset: Dataset,
    *,
    bits: Path | None,
    tokens: Path | None,
    declared: bool,
    tell: Callable[[str], None],
) -> Sources:
    """Pair the files below ``folder`` with the clips of ``dataset``, and what states their bits with them.

    Tokens beside the files are taken where nothing else states the bits. Raises PipelineError where no clip has a file,
    or each has several, ManifestError for a wrong table of bits.
    """
    names = ClipNames(dataset.clip_ids())
    audio = pair_files(folder, names, AUDIO_SUFFIXES)
    if not audio.files and not audio.doubled:
        expected, found = list(reference_names(dataset.clip_ids()).values())[:_SHOWN], audio.extra[:_SHOWN]
        raise PipelineError(
            f"no file in {folder} belongs to a clip of {dataset.name}: expected names such as "
            f"{', '.join(expected)}, got {', '.join(found) or 'no audio at all'}; "
            "`datasets export` writes references under these names"
        )
    if not audio.files:
        clip, several = next(iter(audio.doubled.items()))
        raise PipelineError(
            f"no clip of {dataset.name} has one file alone in {folder}: {', '.join(several)} are all of {clip}; keep "
            "one of each"
        )
    strangers = [f"{name}: the file belongs to no clip" for name in audio.extra]
    stated = None
    if bits is not None:
        stated, unknown = read_bits(bits, names)
        strangers += [f"{name}: a line of {bits.name} that belongs to no clip" for name in unknown]
    beside = pair_files(tokens or folder, names, TOKEN_ENDINGS)
    taken = beside if tokens is not None or (beside.files and not declared and bits is None) else None
    if taken is not None:
        strangers += [f"{name}: tokens that belong to no clip" for name in taken.extra]
    elif beside.files:
        tell("the tokens beside the files are not read: --kbps or --bits says how many bits there are")
    return Sources(folder, audio, tokens or folder, taken, stated, strangers)


def _one(pairing: Pairing, clip: str, what: str, folder: Path) -> tuple[str, str]:
    """Return the path of a clip's file, or '' and what is wrong."""
    if clip in pairing.doubled:
        return "", f"several files may be its {what}: {', '.join(pairing.doubled[clip])}; keep one"
    if clip not in pairing.files:
        return "", f"there is no {what} for it in {folder.name}"
    return str(folder / pairing.files[clip]), ""


def source_text(source: Source, *, resample: bool) -> str:
    """Describe what a row is made of, so that it is made again when that changes."""
    files = [[path, *_stamp(Path(path))] for path in (source.audio, source.tokens) if path]
    return json.dumps([files, source.bits, resample])


def _stamp(path: Path) -> tuple[int, ...]:
    """Return nothing for a dangling link and a file that has vanished: whoever reads it says so in the clip's row."""
    try:
        return file_stamp(path)
    except OSError:
        return ()


def _header(path: Path) -> tuple[int, int] | None:
    try:
        return read_header(path)
    except OSError:
        return None
