"""Synthetic voices: the speech synthesiser Flite, compiled to WebAssembly (WASI), run without installing it.

WebAssembly defines every result of its arithmetic but the bits of NaN (its specification, "Numerics"), and the module
brings its own mathematical library, so that a text has the same samples on every machine. The module sees one empty
folder, and neither the network nor other files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.audio.samples import Samples, decode_exactly
from codec_superb.data_manifests.errors import AudioFileError, FetchError
from codec_superb.missing_package import not_installed

VOICES = ("awb", "kal16", "rms", "slt")
"""Voices in the module, all at 16 kHz: a Scot, a diphone voice, a man and a woman from the United States."""


class Flite:
    """The compiled module; :meth:`say` may be called often."""

    def __init__(self, module: bytes) -> None:
        """Compile ``module``. Raises FetchError without the package wasmtime, or when it is no WebAssembly."""
        wasmtime = _runtime()
        self._engine = wasmtime.Engine()
        try:
            self._module = wasmtime.Module(self._engine, module)
        except wasmtime.WasmtimeError as error:
            raise FetchError(f"the synthesiser is no WebAssembly module: {str(error).splitlines()[0]}") from error

    def say(self, text: str, voice: str) -> Samples:
        """Return ``text`` spoken by one of :data:`VOICES`: 16 bits, mono, 16 kHz. Raises AudioFileError."""
        wasmtime = _runtime()
        store, linker = wasmtime.Store(self._engine), wasmtime.Linker(self._engine)
        linker.define_wasi()
        with tempfile.TemporaryDirectory() as folder:
            wasi = wasmtime.WasiConfig()
            wasi.argv = ["flite", "-voice", voice, "-t", text, "-o", "/out/said.wav"]
            wasi.preopen_dir(folder, "/out")
            wasi.stdout_file = wasi.stderr_file = str(Path(folder, "said.txt"))
            store.set_wasi(wasi)
            try:
                linker.instantiate(store, self._module).exports(store)["_start"](store)
            except wasmtime.ExitTrap as stopped:
                if stopped.code:
                    raise AudioFileError(f"{text!r}: the synthesiser ended with {stopped.code}") from stopped
            except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
                raise AudioFileError(f"{text!r}: the synthesiser failed: {str(error).splitlines()[0]}") from error
            said = Path(folder, "said.wav")
            if not said.is_file():
                raise AudioFileError(f"{text!r}: the synthesiser wrote no sound; is {voice!r} one of its voices?")
            return decode_exactly(said.read_bytes(), f"{voice}: {text}")


def _runtime() -> Any:
    try:
        import wasmtime
    except ImportError as error:
        raise FetchError(not_installed("synthetic speech", "wasmtime", extra="voices")) from error
    return wasmtime
