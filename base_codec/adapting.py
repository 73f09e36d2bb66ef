"""Make a codec out of what somebody has: a function, a torch module, a codec or its class, or what makes one of them.

``resynthesise(audio, rate) -> audio`` is called with a mono clip, float32 ``(samples,)``, at the clip's own rate, or at
the rate in Hz that it states as an attribute ``sampling_rate``. A torch module gets ``(1, channels, samples)`` at the
rate that it states, in evaluation mode, without gradients: ``decode(encode(sound))`` where it has both, else
``forward``. Tokens are an integer tensor ``(1, codebooks, frames)`` or ``(1, frames)``; their bits are counted where
the module states ``codebook_size`` or ``codebook_sizes``. Nothing else is counted: the bitrate is declared, or unknown.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, TypeGuard

from codec_superb.base_codec.card import Card, Weights
from codec_superb.base_codec.catalogue_file import EXAMPLE, card_from
from codec_superb.base_codec.errors import CatalogueError, RefusedSetting
from codec_superb.base_codec.interface import CheckpointCodec, Codec
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.own_codecs import FunctionCodec, ModuleCodec, has_codes

STATED_AT = 48_000
"""Hz on the card of a function that takes every rate."""
_RATES = ("sampling_rate", "sample_rate")
_CODEBOOKS = ("codebooks", "n_codebooks", "num_codebooks", "num_quantizers")
_KINDS = (
    "a function (audio, rate) -> audio, a torch module, a Codec or its class, or a callable without parameters that "
    "returns one of them"
)


def as_codec(
    thing: object,
    *,
    name: str | None = None,
    sampling_rate: int | None = None,
    kbps: float | None = None,
    device: str = "cpu",
    label: str = "",
) -> Codec:
    """Return ``thing`` as a codec that is not loaded yet.

    An attribute ``card`` states what is known of it. Without one ``name`` and ``sampling_rate`` in Hz are those given,
    else attributes of the thing, and all else is not stated. ``kbps`` declares the bitrate of a codec that does not
    count its bits. ``label`` names the thing in errors; a maker with a parameter ``device`` gets ``device``.
    Raises RefusedSetting or CatalogueError with one sentence, and whatever a maker raises.
    """
    label = label or _label_of(thing)
    made = _made(thing, label, device)
    if isinstance(made, Codec):
        codec = copy.copy(made)
        changed = {key: value for key, value in (("name", name), ("sampling_rate", sampling_rate)) if value is not None}
        codec.card = card_from(made.card.model_dump() | changed, label) if changed else made.card
    elif _is_module(made):
        codec = ModuleCodec(_card_of(made, label, name, sampling_rate), made, label)
    elif callable(made):
        codec = FunctionCodec(_card_of(made, label, name, sampling_rate), made, label)
    else:
        raise RefusedSetting(f"{label}: expected {_KINDS}, got {type(made).__name__}")
    codec.card = settled(codec.card, CodecOptions(kbps=kbps))
    return codec


def settled(card: Card, options: CodecOptions) -> Card:
    """Return the card with the bitrate that was declared and the delay that was found, where it leaves them open.

    Raises RefusedSetting for a bitrate of a codec that counts its bits, and for one of 0 or less.
    """
    if options.kbps is not None:
        if card.bit_source == "measured":
            raise RefusedSetting(f"{card.name} counts the bits of each clip: leave out kbps {options.kbps:g}")
        if not 0 < options.kbps < float("inf"):
            raise RefusedSetting(f"{card.name}: expected a bitrate (kbps) above 0, got {options.kbps:g}")
        card = card.model_copy(update={"nominal_kbps": float(options.kbps), "bit_source": "declared"})
    if options.delay is not None and card.delay_samples is None:
        card = card.model_copy(update={"delay_samples": options.delay, "delay_source": "found"})
    return card


def _label_of(thing: object) -> str:
    # TorchScript knows the class that it was made of
    name = str(getattr(thing, "__name__", "") or getattr(thing, "original_name", "") or type(thing).__name__)
    if name != "<lambda>":
        return name
    known = getattr(thing, "__globals__", {})
    line = getattr(getattr(thing, "__code__", None), "co_firstlineno", "")
    return next((key for key, value in known.items() if value is thing), f"lambda_{line}")


def _name_of(thing: object, label: str) -> str:
    """Return the name that a thing states, else one that a card takes: ``my_resynthesise`` of my.py:resynthesise."""
    own = getattr(thing, "name", None)
    plain = label.replace(".py:", "_").lower()
    return own if isinstance(own, str) else re.sub(r"[^a-z0-9_.]+", "_", plain).lstrip("_.") or "codec"


def _made(thing: object, label: str, device: str) -> object:
    """Return the codec, module or function; a class or a maker is called."""
    if isinstance(thing, Codec) or _is_module(thing):
        return thing
    if isinstance(thing, type) and issubclass(thing, Codec):
        return _of_class(thing, label)
    if not callable(thing):
        raise RefusedSetting(f"{label}: expected {_KINDS}, got {type(thing).__name__}")
    parameters = _required(thing)
    if parameters == ["device"]:
        return thing(device=device)
    if parameters == []:
        return thing()
    if isinstance(thing, type):
        raise RefusedSetting(
            f"{label}: expected a class that is made without parameters, got one that needs {', '.join(parameters)}: "
            f"write a function without parameters that returns {label.rpartition(':')[2]}(…)"
        )
    return thing


def _of_class(codec_class: type[Codec], label: str) -> Codec:
    if issubclass(codec_class, CheckpointCodec):
        raise RefusedSetting(f"{label}: expected a codec with its folder of weights: give {label}(card, folder)")
    own = class_card(codec_class, label)
    check_methods(codec_class, label)
    return codec_class(own)


def check_methods(codec_class: type[Codec], label: str) -> None:
    """Refuse a class that lacks a method of the interface, or whose methods take others. Raises RefusedSetting."""
    if unwritten := sorted(codec_class.__abstractmethods__):
        raise RefusedSetting(f"{label}: expected a class with _encode and _decode, it lacks {', '.join(unwritten)}")
    for name, taken in (("_encode", ("self", "audio")), ("_decode", ("self", "packets", "channels"))):
        own = inspect.getattr_static(codec_class, name)
        if not inspect.isfunction(own):  # a static method, say
            continue
        signature = inspect.signature(own)
        try:
            signature.bind(*taken)
        except TypeError as error:
            named = ", ".join(map(str, signature.parameters.values()))
            raise RefusedSetting(f"{label}: expected {name}({', '.join(taken)}), got {name}({named})") from error


def class_card(codec_class: type[Codec], label: str) -> Card:
    """Return the card that a class carries. Raises CatalogueError where it has none."""
    own = getattr(codec_class, "card", None)
    if not isinstance(own, Card):
        raise CatalogueError(
            f"{label}: expected a class attribute `card` that is a Card, got {type(own).__name__}: {EXAMPLE}"
        )
    return own


def _required(thing: Callable[..., Any]) -> list[str]:
    """Return the parameters without a default; those of a function of sound where they cannot be read."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ["audio", "rate"]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if not isinstance(thing, type) and any(each.kind is variable[0] for each in parameters):
        return ["audio", "rate"]
    return [each.name for each in parameters if each.default is each.empty and each.kind not in variable]


def _is_module(thing: object) -> TypeGuard[Any]:
    """Whether it is a module of torch, which this does not import: without torch there is none."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def _card_of(thing: Any, label: str, name: str | None, sampling_rate: int | None) -> Card:
    """Return the card of what a function or a module states: by its ``card``, else by other attributes."""
    own = getattr(thing, "card", {})
    given = own.model_dump(include=own.model_fields_set) if isinstance(own, Card) else own
    if not isinstance(given, dict):
        return card_from(given, label)
    fields = {"name": _name_of(thing, label)} | _stated_by(thing, label) | given
    rate = sampling_rate if sampling_rate is not None else fields.get("sampling_rate", _stated(thing, *_RATES))
    if rate is not None:
        fields["sampling_rate"] = rate
    elif _is_module(thing):
        what = label.rpartition(":")[2]
        raise RefusedSetting(
            f"{label}: expected a module that states the rate at which it works, in Hz, got none: set `sampling_rate = "
            f"24000` in its class, or {what}.sampling_rate"
        )
    else:
        fields |= {"sampling_rate": STATED_AT, "input_rate": True}
    counts = _is_module(thing) and has_codes(thing) and fields.keys() & {"codebook_size", "codebook_sizes"}
    source = "measured" if counts else "declared" if fields.get("nominal_kbps") else "unknown"
    return card_from({"bit_source": source} | fields | ({} if name is None else {"name": name}), label)


def _stated_by(thing: Any, label: str) -> dict[str, Any]:
    """Return the fields of a card that follow from a module; none from a function, whose parameters are checked."""
    if not _is_module(thing):
        _check_function(thing, label)
        return {}
    trained = sum(parameter.numel() for parameter in thing.parameters())
    weights = Weights(source=f"local:{label}", sha256=_sha256_of(thing))
    found: dict[str, Any] = {"kind": "neural", "parameters": trained, "weights": weights} if trained else {}
    if not has_codes(thing):
        return found
    sizes, size, books = _stated(thing, "codebook_sizes"), _stated(thing, "codebook_size"), _stated(thing, *_CODEBOOKS)
    if sizes is not None:
        found |= {"codebook_sizes": tuple(sizes), "codebooks": len(sizes)}
    elif size is not None:
        found |= {"codebook_size": size, "codebooks": books}
    return found


def _sha256_of(module: Any) -> str:
    """Hash the names, types, shapes and bytes of all parameters and buffers: a module trained further is another."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        if hasattr(tensor, "detach"):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Any) -> memoryview:
    """Return the values of a torch tensor of any type, in order, as bytes to hash."""
    import torch

    # numpy has no bfloat16
    return memoryview(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())


def _stated(thing: Any, *names: str) -> Any:
    """Return the first of the attributes of a thing, or of its ``config``; None where it has none of them."""
    for holder in (thing, getattr(thing, "config", None)):
        for name in names:
            value = getattr(holder, name, None)
            # a module of that name states nothing
            if value is not None and not callable(value):
                return value.item() if getattr(value, "ndim", None) == 0 else value
    return None


def _check_function(function: Callable[..., Any], label: str) -> None:
    """Refuse what cannot be called with (audio, rate) and give sound. Raises RefusedSetting."""
    call = function if inspect.isroutine(function) else type(function).__call__
    if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
        raise RefusedSetting(f"{label} is a generator: `return` one array, np.concatenate(pieces), in place of `yield`")
    if inspect.iscoroutinefunction(call):
        raise RefusedSetting(f"{label} is a coroutine: define it with `def`, not `async def`")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        named = ", ".join(map(str, inspect.signature(function).parameters.values()))
        raise RefusedSetting(
            f"{label}: expected a function (audio, rate) -> audio, got ({named}): take these two, and give defaults to "
            "all others"
        ) from error
    except ValueError:  # compiled code without a signature
        return
