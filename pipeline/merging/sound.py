"""Sound and tokens of a shard become those of the run: linked where the file system can, and copied elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from codec_superb.data_manifests.files import replacing
from codec_superb.pipeline.errors import RunFolderError
from codec_superb.pipeline.runs.audio_store import file_name
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.token_store import token_file_name


class Takeover:
    """Gives a run the files of a shard."""

    def __init__(self, shard: RunFolder, folder: RunFolder) -> None:
        # text: paths cost twice what the link itself takes, for each of a million files
        self._audio = str(shard.audio), str(folder.audio)
        self._tokens = (str(shard.tokens), str(folder.tokens)) if shard.tokens.is_dir() else None

    def sound(self, clip: str) -> None:
        """Take the audio of a clip, and its tokens where they were stored."""
        name = file_name(clip)
        _take(f"{self._audio[0]}/{name}", f"{self._audio[1]}/{name}")
        if self._tokens is not None:
            name = token_file_name(clip)
            if os.path.exists(source := f"{self._tokens[0]}/{name}"):  # noqa: PTH110
                _take(source, f"{self._tokens[1]}/{name}")


def _take(source: str, target: str) -> None:
    """Link a file, or copy it to another file system; files of a run are replaced, never written into."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        if not os.path.exists(source):  # noqa: PTH110
            raise RunFolderError(f"expected {source}, found no such file: call resynth --shard again") from None
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        _replace(source, target)
    except OSError:  # there is one, perhaps this one; or another file system
        if not (os.path.exists(target) and os.path.samefile(source, target)):  # noqa: PTH110, PTH121
            _replace(source, target)


def _replace(source: str, target: str) -> None:
    with replacing(Path(target), sync=False) as temporary:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
