"""Checkpoints in PyTorch's old format: the same arrays as torch reads, and no code of a stranger."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.asv.legacy_checkpoint import (
    MAGIC,
    PROTOCOL,
    BadCheckpoint,
    read_legacy_checkpoint,
)
from codec_superb.applications.model_files import embedded_model_folder


def _save(value: Any, file: Path) -> Path:
    torch.save(value, file, _use_new_zipfile_serialization=False)
    return file


def _same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            _same(ours[key], value)
    elif isinstance(theirs, torch.Tensor):
        expected = theirs.numpy()
        assert ours.dtype == expected.dtype
        assert ours.shape == expected.shape
        np.testing.assert_array_equal(ours, expected)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs)
        for one, other in zip(ours, theirs, strict=True):
            _same(one, other)
    else:
        assert ours == theirs


def test_the_published_file_is_read_as_torch_reads_it() -> None:
    """Every array and number of Resemblyzer's own checkpoint equals what torch.load gives."""
    file = embedded_model_folder("resemblyzer") / "pretrained.pt"
    ours = read_legacy_checkpoint(file)
    _same(ours, torch.load(file, map_location="cpu", weights_only=True))
    assert ours["model_state"]["lstm.weight_ih_l0"].shape == (1024, 40)


def test_views_types_and_nesting_are_kept(tmp_path: Path) -> None:
    """Transposed, cut, shared, empty and 0-d tensors of five element types come back as torch has them."""
    base = torch.arange(24.0).reshape(4, 6)
    kinds = (torch.float64, torch.float16, torch.int32, torch.int64)
    value = {
        "base": base, "transposed": base.T, "cut": base[1:3, ::2], "scalar": torch.tensor(3.5),
        "empty": torch.zeros(0, 3), "nested": {"list": [torch.ones(2), (torch.zeros(1), "text")], "number": 7},
        "state": OrderedDict(weight=torch.nn.Linear(2, 3).weight.detach()), "none": None, "flag": True, "real": 0.25,
        **{str(kind): torch.tensor([1, 2]).to(kind) for kind in kinds},
    }  # fmt: skip
    file = _save(value, tmp_path / "saved.pt")
    _same(read_legacy_checkpoint(file), torch.load(file, weights_only=True))


def test_arrays_own_their_memory(tmp_path: Path) -> None:
    """Two tensors of one storage become two arrays: changing one leaves the other."""
    base = torch.arange(6.0)
    read = read_legacy_checkpoint(_save({"one": base, "two": base}, tmp_path / "saved.pt"))
    read["one"][0] = 9.0
    assert read["two"][0] == 0.0


class _Calls:
    """An object whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.made = function, arguments

    def __reduce__(self) -> Any:
        return self.made


def _file(folder: Path, value: bytes, rest: bytes = b"") -> Path:
    """Write a file whose fourth pickle is ``value``."""
    machine = {"protocol_version": PROTOCOL, "little_endian": True}
    head = b"".join(pickle.dumps(part, 2) for part in (MAGIC, PROTOCOL, machine))
    (folder / "hostile.pt").write_bytes(head + value + (rest or pickle.dumps([], 2)))
    return folder / "hostile.pt"


class TestHostileFiles:
    """What a file may not do."""

    @pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
    @pytest.mark.parametrize("function", [os.system, eval, print, getattr, type, torch.load])
    def test_refuses_calls(
        self, tmp_path: Path, protocol: int, function: Any, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """A pickle that calls a function is refused in every protocol before the function runs."""
        file = _file(tmp_path, pickle.dumps({"model_state": _Calls(function, "echo called")}, protocol))
        with pytest.raises(BadCheckpoint, match="has no need of"):
            read_legacy_checkpoint(file)
        assert "called" not in capfd.readouterr().out

    def test_refuses_calls_in_the_first_pickle(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """The magic number is not worth a call either."""
        (tmp_path / "x.pt").write_bytes(pickle.dumps(_Calls(print, "called"), 2))
        with pytest.raises(BadCheckpoint, match=r"x\.pt: .*no need of"):
            read_legacy_checkpoint(tmp_path / "x.pt")
        assert "called" not in capfd.readouterr().out

    def test_refuses_other_names_of_permitted_modules(self, tmp_path: Path) -> None:
        """PyTorch and collections give nothing but what is listed."""
        for name in (
            b"torch\nload",
            b"collections\nCounter",
            b"torch._utils\n_rebuild_sparse_tensor",
            b"torch\nload.x",
        ):
            with pytest.raises(BadCheckpoint, match="no need of"):
                read_legacy_checkpoint(_file(tmp_path, b"\x80\x02c" + name + b"\n."))

    def test_refuses_to_change_a_stand_in(self, tmp_path: Path) -> None:
        """The function that makes tensors has no attribute that a pickle could set."""
        change = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb."
        with pytest.raises(BadCheckpoint):
            read_legacy_checkpoint(_file(tmp_path, change))

    def test_refuses_a_large_table(self, tmp_path: Path) -> None:
        """A memo entry of number four thousand million is refused, not made room for."""
        with pytest.raises(BadCheckpoint, match="4294967295 entries"):
            read_legacy_checkpoint(_file(tmp_path, b"\x80\x02}r\xff\xff\xff\xff."))

    def test_refuses_a_list_that_holds_itself(self, tmp_path: Path) -> None:
        """Neither a list within itself nor one that doubles thirty times is walked to its end."""
        endless: list[Any] = []
        endless.append(endless)
        doubling: list[Any] = []
        for _ in range(30):
            doubling = [doubling, doubling]
        for value in (endless, doubling):
            with pytest.raises(BadCheckpoint, match="at most 100000 values"):
                read_legacy_checkpoint(_file(tmp_path, pickle.dumps({"a": value}, 2)))

    @pytest.mark.parametrize(
        ("offset", "size", "stride"),
        [(0, (3,), (1,)), (1, (2,), (1,)), (0, (2,), (2,)), (-1, (1,), (1,)), (0, (1,), (-1,)), (0, (10**9,), (0,)),
         (0, (1,), (1, 1)), ("0", (1,), (1,)), (0, [1], (1,)), (0, (1.0,), (1,))],
    )  # fmt: skip
    def test_refuses_views_beyond_their_storage(self, tmp_path: Path, offset: Any, size: Any, stride: Any) -> None:
        """A tensor that would reach outside of the two elements of its storage, or is larger, is refused."""
        stream = io.BytesIO()
        pickler = _TensorPickler(stream, 2)
        pickler.dump({"t": _TensorOf(offset, size, stride)})
        storage = pickle.dumps(["0"], 2) + struct.pack("<q2f", 2, 1.0, 2.0)
        with pytest.raises(BadCheckpoint):
            read_legacy_checkpoint(_file(tmp_path, stream.getvalue(), storage))

    def test_reads_the_view_that_fits(self, tmp_path: Path) -> None:
        """The same file with a view inside of its storage is read: the refusals above are not for another reason."""
        stream = io.BytesIO()
        _TensorPickler(stream, 2).dump({"t": _TensorOf(1, (1,), (1,))})
        storage = pickle.dumps(["0"], 2) + struct.pack("<q2f", 2, 1.0, 2.0)
        assert read_legacy_checkpoint(_file(tmp_path, stream.getvalue(), storage))["t"] == [2.0]

    def test_names_a_newer_format(self, tmp_path: Path) -> None:
        """A file of today's format, a text and an empty file are refused by name."""
        torch.save({"a": torch.ones(1)}, tmp_path / "new.pt")
        (tmp_path / "text.pt").write_text("no checkpoint")
        (tmp_path / "empty.pt").write_bytes(b"")
        for name in ("new.pt", "text.pt", "empty.pt"):
            with pytest.raises(BadCheckpoint, match=name):
                read_legacy_checkpoint(tmp_path / name)

    @pytest.fixture(scope="class")
    @classmethod
    def whole(cls, tmp_path_factory: pytest.TempPathFactory) -> bytes:
        """Give the content of a checkpoint; saved anew it may be longer, since torch names storages by addresses."""
        file = tmp_path_factory.mktemp("whole") / "x.pt"
        _save({"a": torch.arange(6.0).reshape(2, 3), "b": [torch.ones(2)]}, file)
        return file.read_bytes()

    @given(st.data())
    def test_damage_is_named(self, whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        """A file with bytes cut off or changed is read or refused as BadCheckpoint, never anything else."""
        file = tmp_path_factory.mktemp("damaged") / "x.pt"
        content = bytearray(whole)
        for position in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
            content[position] = data.draw(st.integers(0, 255))
        file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        with contextlib.suppress(BadCheckpoint):
            assert isinstance(read_legacy_checkpoint(file), dict)


class _TensorOf:
    """Pickled as a tensor of storage 0, which has two elements."""

    def __init__(self, *view: Any) -> None:
        self.view = view

    def __reduce__(self) -> Any:
        return torch._utils._rebuild_tensor_v2, (_Storage(), *self.view, False, OrderedDict())


class _Storage:
    """Pickled as a storage."""


class _TensorPickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return ("storage", torch.FloatStorage, "0", "cpu", 2, None) if isinstance(value, _Storage) else None
