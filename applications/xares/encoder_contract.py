"""Encoders as XARES-LLM takes them: found by file or dotted path, and checked before hours are spent on them.

The contract: a ``torch.nn.Module`` with the attribute ``output_dim``, whose ``forward(audio, mask)`` takes ``(batch,
samples)`` at 16 kHz and a mask of the same shape or None, and returns frames ``(batch, frames, output_dim)`` and a mask
``(batch, frames)`` or None; 1 keeps. A file holds one class whose name ends in ``Encoder``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from codec_superb.applications.errors import ApplicationError
from codec_superb.plugins import PluginError, fault, import_file

ENDING = "Encoder"
RATE = 16_000
_SAMPLES = 50_000
"""Of the noise that the published checker sends, three sounds at a time."""
_NEAR = 1e-3
"""Largest difference of a sound's frames alone and in a batch, over their deviation: float32 is rounded in both."""
_TWICE = "the same sound twice has two answers"
_ROUNDED = 16
"""The same in steps of the frames' own type, where that is coarser: half precision, bfloat16."""


def find_encoder(name: str) -> Callable[..., nn.Module]:
    """Return the class behind ``path/to/file.py``, ``path/to/file.py:NAME`` or ``package.module:NAME``.

    Raises ApplicationError for a file without exactly one class of the ending, and for what cannot be imported.
    """
    place, _, wanted = name.partition(":")
    try:
        module = import_file(Path(place).expanduser().absolute()) if place.endswith(".py") else _imported(place)
    except PluginError as error:
        raise ApplicationError(str(error)) from error
    own: list[Any] = [
        each for each in vars(module).values()
        if inspect.isclass(each) and each.__name__.endswith(ENDING) and each.__module__ == module.__name__
    ]  # fmt: skip
    if wanted:
        found = getattr(module, wanted, None)
        if not callable(found):
            raise ApplicationError(f"{place}: expected a class {wanted}, found none; it has {_listed(own)}")
        return found  # type: ignore[no-any-return]
    if len(own) != 1:
        raise ApplicationError(
            f"{place}: expected one class whose name ends in {ENDING}, got {_listed(own)}; name one: {place}:NAME"
        )
    found_class: Callable[..., nn.Module] = own[0]
    return found_class


def _imported(place: str) -> Any:
    try:
        return importlib.import_module(place)
    except ImportError as error:
        raise ApplicationError(f"{place}: expected a module or a file .py: {error}; look at its name") from error


def _listed(found: list[Any]) -> str:
    return ", ".join(each.__name__ for each in found) or "none"


def make_encoder(name: str, arguments: Path | None = None) -> nn.Module:
    """Return an encoder in evaluation mode, its weights frozen; ``arguments`` is a JSON object for its constructor.

    Raises ApplicationError with the reason where it cannot be made, is no module, or has no ``output_dim``.
    """
    given = {} if arguments is None else _arguments(arguments)
    try:
        with redirect_stdout(sys.stderr):  # standard output is the program's: a record, a table
            made = find_encoder(name)(**given)
    except ApplicationError:
        raise
    except (Exception, SystemExit) as error:
        raise ApplicationError(f"{name} cannot be made: {_fault(name, error)}; mend it and call again") from error
    if not isinstance(made, nn.Module):
        raise ApplicationError(f"{name}: expected a torch.nn.Module, got {type(made).__name__}")
    if frame_size(made) < 1:
        raise ApplicationError(
            f"{name}: expected an attribute output_dim, the numbers of a frame, at least 1, got "
            f"{getattr(made, 'output_dim', None)!r:.60}; set it in __init__"
        )
    return made.eval().requires_grad_(False)


def frame_size(encoder: nn.Module) -> int:
    """Return the numbers of a frame that an encoder states; 0 where it states none."""
    stated: Any = getattr(encoder, "output_dim", None)
    try:
        return 0 if isinstance(stated, bool) else operator.index(stated)
    except TypeError:
        return 0


def _arguments(file: Path) -> dict[str, Any]:
    try:
        given = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ApplicationError(f"{file}: expected a JSON object of arguments: {error}") from error
    if not isinstance(given, dict):
        raise ApplicationError(f"{file}: expected a JSON object of arguments, got {type(given).__name__}")
    return given


def _fault(place: str, error: BaseException) -> str:
    """Describe what a stranger's code raised, with the line of its file."""
    if isinstance(error, SystemExit):
        return "it calls sys.exit"
    assert isinstance(error, Exception)
    return fault(Path(place.partition(":")[0]).expanduser().absolute(), error)


def encode(encoder: nn.Module, audio: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return what ``forward`` gives, checked for kind and shapes. Raises ApplicationError with expected and got."""
    try:
        inspect.signature(encoder.forward).bind(audio, mask)
    except TypeError as error:
        told = f"expected two arguments, audio and mask: {error}; give the mask a default of None"
        raise ApplicationError(f"forward: {told}") from error
    try:
        with torch.inference_mode(), redirect_stdout(sys.stderr):
            answer = encoder(audio, mask)
    except (Exception, SystemExit) as error:
        own = str(getattr(sys.modules.get(type(encoder).__module__), "__file__", ""))
        raise ApplicationError(
            f"forward: {_fault(own, error)}; it must take {tuple(audio.shape)} float32 at {RATE} Hz, and "
            f"{'no mask' if mask is None else 'a mask'}"
        ) from error
    if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004
        many = f" of {len(answer)}" if isinstance(answer, tuple | list) else ""
        raise ApplicationError(f"forward: expected a pair of frames and mask, got {type(answer).__name__}{many}")
    frames, kept = answer
    size = frame_size(encoder)
    if not torch.is_tensor(frames) or frames.shape != (len(audio), frames.shape[-2] if frames.ndim > 1 else 0, size):
        raise ApplicationError(
            f"forward: expected frames of shape ({len(audio)}, frames, {size}), got {_shape(frames)}"
        )
    if kept is not None and (not torch.is_tensor(kept) or kept.shape != frames.shape[:2]):
        wanted = tuple(frames.shape[:2])
        raise ApplicationError(f"forward: expected a mask of shape {wanted} or None, got {_shape(kept)}")
    if not frames.shape[1]:
        raise ApplicationError(f"forward: expected frames of {audio.shape[1]} samples, got none")
    if kept is not None and not bool(((kept == 0) | (kept == 1)).all()):
        values = f"{float(kept.min()):g} to {float(kept.max()):g}"
        raise ApplicationError(f"forward: expected a mask of 0 and 1, got numbers from {values}; round it")
    return frames, kept


def _shape(value: object) -> str:
    return f"shape {tuple(value.shape)}" if torch.is_tensor(value) else type(value).__name__


def check_encoder(encoder: nn.Module) -> Iterator[str]:
    """Yield what is wrong with an encoder, a sentence each: expected, got, what to do.

    Beyond the published checker's cases it asks whether frames are finite and repeatable, whether the mask covers the
    sound that it was given, and whether a sound has the same frames alone and beside a longer one.
    """
    state = {name: value.clone() for name, value in encoder.state_dict().items()}
    audio = torch.randn(3, _SAMPLES, generator=torch.Generator().manual_seed(0)).clamp(-1, 1)
    ones = torch.ones_like(audio, dtype=torch.long)
    try:
        frames, _ = encode(encoder, audio, None)
        again, _ = encode(encoder, audio, None)
        _, kept = encode(encoder, audio, ones)
        unusable = list(_about_frames(frames, again))
        yield from unusable
        if unusable and not unusable[0].startswith(_TWICE):
            return
        if kept is not None:
            yield from _about_ends(encoder, audio, frames, kept)
        if kept is None or bool(kept[0].any()):
            yield from _about_batches(encoder, audio, kept)
    except ApplicationError as error:
        yield str(error)
        return
    changed = [name for name, value in encoder.state_dict().items() if not torch.equal(value, state[name])]
    if changed or encoder.training:
        yield f"encoding changed {changed[0] if changed else 'the mode'}: expected a frozen encoder in evaluation mode"


def _about_frames(frames: Tensor, again: Tensor) -> Iterator[str]:
    if not frames.is_floating_point():
        yield f"expected frames of floating point, got {frames.dtype}"
    elif not torch.isfinite(frames).all():
        yield "expected finite frames of noise, got NaN or infinity"
    elif not torch.equal(frames, again):
        yield f"{_TWICE}: expected equal frames; leave out what draws random numbers, or changes the audio in place"
    elif torch.equal(frames[0], frames[1]):
        yield "two sounds have one answer: expected frames that depend on the audio; look at weights and masks"


def _about_ends(encoder: nn.Module, audio: Tensor, frames: Tensor, kept: Tensor) -> Iterator[str]:
    """Change the end of a sound: the frame that changes most must be one that the mask keeps."""
    other = audio.clone()
    other[:, -_SAMPLES // 8 :] *= -0.5
    changed, _ = encode(encoder, other, torch.ones_like(audio, dtype=torch.long))
    most = int((changed - frames)[0].abs().mean(dim=-1).argmax())
    if not bool(kept[0].any()):
        yield "the mask of a whole sound keeps no frame: expected 1 for frames that count; look at its sense"
    elif not bool(kept[0][most]):
        yield (
            f"the mask of a whole sound leaves out its end: frame {most} of {frames.shape[1]} is of the last eighth, "
            f"{int(kept[0].sum())} are kept; a length that is divided twice cuts sounds short"
        )


def _about_batches(encoder: nn.Module, audio: Tensor, kept: Tensor | None) -> Iterator[str]:
    """Compare a sound of half the length alone, and padded beside a longer one."""
    half = _SAMPLES // 2
    mask = torch.ones_like(audio, dtype=torch.long)
    mask[0, half:] = 0
    padded = torch.where(mask.bool(), audio, torch.zeros(()))
    together, kept_together = encode(encoder, padded, mask)
    if not torch.isfinite(together).all():
        # a language model multiplies what a mask leaves out by 0, and infinity by 0 is NaN
        yield "expected finite frames behind a padded sound too, got NaN or infinity; write 0 there"
        return
    alone, kept_alone = encode(encoder, audio[:1, :half], mask[:1, :half])
    if kept_together is None:
        yield "no mask comes back for a padded sound: silence behind it counts as sound; return a mask of frames"
        return
    own = together[0][kept_together[0].bool()]
    wanted = alone[0] if kept_alone is None else alone[0][kept_alone[0].bool()]
    whole = together.shape[1] if kept is None else int(kept[1].sum())
    # a frame more or less at the end is how convolutions are padded
    if abs(len(own) - whole * half / _SAMPLES) > max(2, 0.02 * whole):
        yield (
            f"of a sound of half the length the mask keeps {len(own)} of {whole} frames: expected about {whole // 2}; "
            "let it follow the mask of samples"
        )
        return
    shared = min(len(own), len(wanted)) - 2
    if shared > 0:
        apart = float((own[:shared] - wanted[:shared]).abs().max() / wanted.std().clamp(min=1e-9))
        if apart > max(_NEAR, _ROUNDED * torch.finfo(together.dtype).eps):
            yield f"a sound has other frames beside a longer one, by {apart:.2g} of their deviation: expected the same"
