"""Operations that are counted: layers by hand, whole models by their modules, workers, graphs, and what is not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.codecs.checkpoints import opened
from support.codecs.published import needs_published, published_weights
from torch import nn
from torch.nn import functional

from codec_superb.base_codec.counting import BACKEND, Counted, OperationCounter
from codec_superb.base_codec.isolation.process import WORKER, Timeouts, WorkerProcess
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec


def counted(call: Callable[[], object]) -> Counted:
    """Count what a call computes as codecs do, without gradients."""
    with torch.inference_mode(), OperationCounter() as counter:
        call()
    return counter.found()


HEADS = torch.zeros(2, 4, 16, 8)
LAYERS: dict[str, tuple[Callable[[], object], int]] = {
    "linear": (lambda: nn.Linear(5, 7)(torch.zeros(3, 5)), 2 * 3 * 5 * 7),
    "linear, of a vector": (lambda: nn.Linear(5, 7)(torch.zeros(5)), 2 * 5 * 7),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3)(torch.zeros(1, 4, 10)), 2 * 6 * 8 * 4 * 3),
    "conv1d in groups": (lambda: nn.Conv1d(4, 6, 3, groups=2)(torch.zeros(1, 4, 10)), 2 * 6 * 8 * 2 * 3),
    "transposed": (lambda: nn.ConvTranspose1d(4, 6, 4, stride=2)(torch.zeros(1, 4, 10)), 2 * 10 * 4 * 6 * 4),
    "lstm": (
        lambda: nn.LSTM(5, 7, 2, bidirectional=True)(torch.zeros(9, 3, 5)),
        2 * 9 * 3 * 2 * 4 * 7 * ((5 + 7) + (14 + 7)),
    ),
    "gru": (lambda: nn.GRU(5, 7)(torch.zeros(9, 3, 5)), 2 * 9 * 3 * 3 * 7 * (5 + 7)),
    "attention": (lambda: functional.scaled_dot_product_attention(HEADS, HEADS, HEADS), 2 * 2 * 4 * 2 * 16 * 16 * 8),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 32, batch_first=True).eval()(torch.zeros(1, 16, 8)),
        2 * 16 * (4 * 8 * 8 + 2 * 8 * 32) + 2 * 2 * 2 * 16 * 16 * 4,
    ),
    "distances": (lambda: torch.cdist(torch.zeros(4, 8), torch.zeros(30, 8)), 2 * 4 * 30 * (8 + 2)),
    "matrix and vector": (lambda: torch.zeros(4, 8) @ torch.zeros(8), 2 * 4 * 8),
    "two vectors": (lambda: torch.zeros(8) @ torch.zeros(8), 2 * 8),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_has_the_operations_of_its_products(layer: str) -> None:
    """A multiply-add is two, and nothing is left out."""
    call, expected = LAYERS[layer]
    assert counted(call) == Counted(expected, BACKEND)


def test_what_has_no_formula_is_named_and_what_is_empty_is_unknown() -> None:
    """A bilinear layer is not counted: alone it gives no number, beside a linear one a lower bound."""
    bilinear, linear = nn.Bilinear(3, 4, 5), nn.Linear(4, 4)
    alone = counted(lambda: bilinear(torch.zeros(2, 3), torch.zeros(2, 4)))
    assert alone.operations is None
    assert alone.unseen == ()
    assert "only _trilinear" in alone.reason
    both = counted(lambda: bilinear(torch.zeros(2, 3), linear(torch.zeros(2, 4))))
    assert both == Counted(2 * 2 * 4 * 4, unseen=("_trilinear",))
    nothing = counted(lambda: torch.zeros(3) + 1)
    assert nothing.operations is None
    assert "saw no operation" in nothing.reason


def test_a_kernel_of_a_package_is_named() -> None:
    """Nothing is known of an operator that is not torch's own."""
    library = torch.library.Library("counting_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    found = counted(lambda: nn.Linear(4, 4)(torch.ops.counting_test.twice(torch.zeros(2, 4))))
    assert found == Counted(2 * 2 * 4 * 4, unseen=("counting_test::twice",))


def test_the_layers_in_one_kernel_come_back_after_counting() -> None:
    """The setting that the counter changes is restored, also after an error."""
    assert torch.backends.mha.get_fastpath_enabled()
    found: list[bool] = []

    def stop() -> None:
        found.append(torch.backends.mha.get_fastpath_enabled())
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        counted(stop)
    assert found == [False]
    assert torch.backends.mha.get_fastpath_enabled()


def by_modules(model: nn.Module, call: Callable[[], object]) -> int:
    """Count the convolutions, recurrent and linear layers of a model from what goes in and out of them."""
    total = 0

    def hook(module: nn.Module, given: tuple[Any, ...], out: Any) -> None:
        nonlocal total
        x = given[0] if given else out
        if isinstance(module, nn.ConvTranspose1d):
            total += 2 * x.numel() * module.out_channels // module.groups * module.kernel_size[0]
        elif isinstance(module, nn.Conv1d):
            total += 2 * out.numel() * module.in_channels // module.groups * module.kernel_size[0]
        elif isinstance(module, nn.LSTM):
            total += 2 * x.numel() // x.shape[-1] * sum(w.numel() for w in module.parameters() if w.dim() == 2)
        elif isinstance(module, nn.Linear):
            total += 2 * out.numel() * module.in_features

    handles = [module.register_forward_hook(hook) for module in model.modules()]
    try:
        call()
    finally:
        for handle in handles:
            handle.remove()
    return total


@pytest.mark.parametrize(
    ("name", "family", "width"),
    [
        ("encodec_24k_6bps", "encodec", 8),
        ("dac_16k", "dac_16k", 4),
    ],
)
def test_a_model_has_the_operations_of_its_modules(name: str, family: str, width: int) -> None:
    """Encoder and decoder apart: their modules, and each token's product with its codebook of entries of a width."""
    codec: Any = opened(name, family)
    rate = codec.card.sampling_rate
    audio = 0.1 * np.random.default_rng(0).standard_normal((1, rate)).astype(np.float32)
    encoded, encoding = codec.encode_counted(audio, rate)
    decoded, decoding = codec.decode_counted(encoded)
    search = 2 * encoded.payload.size * codec.card.codebook_size * width
    assert np.array_equal(encoded.payload, codec.encode(audio, rate).payload)
    assert np.array_equal(decoded, codec.decode(encoded))
    assert encoding == Counted(by_modules(codec.model, lambda: codec.encode(audio, rate)) + search)
    assert decoding == Counted(by_modules(codec.model, lambda: codec.decode(encoded)))


GUEST = """
import numpy as np
class Guest:
    def __init__(self, card, device):
        if card["torch"]:
            import torch
            self.layer = torch.nn.Linear(10, 3)
    def encode(self, audio):
        if hasattr(self, "layer"):
            import torch
            with torch.inference_mode():
                self.layer(torch.from_numpy(audio[:, :10]))
        return np.zeros((1, 4), dtype=np.int64)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("uses_torch", "expected"),
    [(True, Counted(2 * 10 * 3)), (False, Counted(None, reason="it does not run in torch"))],
)
def test_a_worker_counts_what_its_guest_computes(tmp_path: Path, uses_torch: bool, expected: Counted) -> None:
    """Only requests that ask for it are counted; a guest without torch has no number."""
    (tmp_path / "guest.py").write_text(GUEST)
    worker = WorkerProcess([sys.executable, "-I", str(WORKER)], Timeouts())
    try:
        worker.load(tmp_path / "guest.py", {"torch": uses_torch, "settings": {}, "weights": None}, "cpu")
        audio = np.ones((1, 20), dtype=np.float32)
        worker.encode([audio])
        assert worker.counted is None
        worker.count = True
        worker.encode([audio])
        assert worker.counted == expected
    finally:
        worker.terminate()


@needs_published("lyra_3.2k")
def test_lyra_has_the_operations_of_its_files() -> None:
    """Counted from the interpreter's graph, they are those of the operators in the model files, for each frame."""
    from ai_edge_litert import schema_py_generated as schema

    folder = published_weights("lyra_3.2k")
    codec = open_codec("lyra_3.2k", options=CodecOptions(weights=str(folder)))
    encoded, encoding = codec.encode_counted(np.zeros((1, 16000), dtype=np.float32), 16000)
    _, decoding = codec.decode_counted(encoded)
    assert (encoding.unseen, decoding.unseen) == ((), ())
    for name, found in (("soundstream_encoder.tflite", encoding), ("lyragan.tflite", decoding)):
        graph = schema.Model.GetRootAs((folder / name).read_bytes(), 0)
        assert found.operations == 50 * _from_file(graph, schema)


def _from_file(model: Any, schema: Any) -> int:
    """Count the convolutions of the first graph of a file."""
    graph, operators = model.Subgraphs(0), schema.BuiltinOperator
    total = 0
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        code = model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()
        if code not in {operators.CONV_2D, operators.DEPTHWISE_CONV_2D, operators.TRANSPOSE_CONV}:
            continue
        weights = graph.Tensors(operator.Inputs(1)).ShapeAsNumpy()
        place = operator.Inputs(2) if code == operators.TRANSPOSE_CONV else operator.Outputs(0)
        size = int(np.prod(graph.Tensors(place).ShapeAsNumpy()))
        if code == operators.CONV_2D:
            total += 2 * size * int(np.prod(weights[1:]))
        elif code == operators.DEPTHWISE_CONV_2D:
            total += 2 * size * int(np.prod(weights[1:3]))
        else:
            total += 2 * size * int(np.prod(weights[:3]))
    return total
