"""State of methods in files: named tensors, as `.safetensors` or `.ptd`.

The first are after the description of the format at https://github.com/huggingface/safetensors: eight bytes with the
length of a header, the header in JSON, which says type, shape and bytes of each tensor, and the bytes, without gaps.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.files import atomic_writer
from et_schema.flat_tensor import FILE_IDENTIFIER, FlatTensor, NamedData, TensorLayout
from et_schema.ptd import read_ptd, serialize_ptd
from et_schema.scalar_type import ScalarType, numpy_dtype, scalar_type_of
from et_schema.tables import Bytes
from et_vm.load.loader import MmapDataLoader
from et_vm.values import Array, element_count

__all__ = ["DATA_FILE", "read_tensors", "write_tensors"]

DATA_FILE: Final = ".ptd"
"""The end of the names of data files."""

_TYPES: Final = {
    ScalarType.BOOL: "BOOL",
    ScalarType.BYTE: "U8",
    ScalarType.CHAR: "I8",
    ScalarType.SHORT: "I16",
    ScalarType.UINT16: "U16",
    ScalarType.INT: "I32",
    ScalarType.UINT32: "U32",
    ScalarType.LONG: "I64",
    ScalarType.UINT64: "U64",
    ScalarType.HALF: "F16",
    ScalarType.BFLOAT16: "BF16",
    ScalarType.FLOAT: "F32",
    ScalarType.DOUBLE: "F64",
    ScalarType.COMPLEXFLOAT: "C64",
    ScalarType.FLOAT8E4M3FN: "F8_E4M3",
    ScalarType.FLOAT8E5M2: "F8_E5M2",
}
_SCALAR_TYPES: Final = {name: scalar_type for scalar_type, name in _TYPES.items()}


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Array]) -> None:
    """Write arrays, of any strides, to a data file if the path ends with `.ptd`, else to a `.safetensors` file. It is
    there completely or as it was, also after a loss of power.

    Raises ExecutorchError(NotSupported) for an element type that the format lacks, (AccessFailed) for a path that
    cannot be written.
    """
    is_data_file = os.fspath(path).endswith(DATA_FILE)
    parts = _data_file(tensors) if is_data_file else _safetensors(tensors)
    try:
        with atomic_writer(path) as stream:
            for part in parts:
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise ExecutorchError(Error.AccessFailed, str(error), where=os.fspath(path)) from error


def _data_file(tensors: Mapping[str, Array]) -> Iterator[Bytes]:
    """The contents of a data file: each tensor is contiguous, and a segment of its own."""
    layouts = [
        NamedData(
            name, at, TensorLayout(scalar_type_of(array.dtype), [*array.shape], bytes(range(array.ndim)))
        )
        for at, (name, array) in enumerate(tensors.items())
    ]
    segments = [[_bytes(array)] for array in tensors.values()]
    yield serialize_ptd(FlatTensor(named_data=layouts), segments)


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _safetensors(tensors: Mapping[str, Array]) -> Iterator[Bytes]:
    """The contents of a `.safetensors` file. Raises ExecutorchError(NotSupported)."""
    header: dict[str, Any] = {}
    end = 0
    for name, array in tensors.items():
        kind = _TYPES.get(scalar_type_of(array.dtype))
        if kind is None:
            raise ExecutorchError(
                Error.NotSupported, f"safetensors files have no type for {array.dtype.name}", where=name
            )
        start, end = end, end + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    yield from map(_bytes, tensors.values())


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The tensors of a file, read-only, mapped; of a data file those that have a layout.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile(InvalidExternalData) for one that
    is malformed.
    """
    data = MmapDataLoader(path).load_all()
    if bytes(data[4:8]) != FILE_IDENTIFIER:
        return _Reading(data, os.fspath(path)).tensors()
    try:
        file = read_ptd(data)
        return {
            entry.key: _laid_out(entry.key, file.segments[entry.segment_index], entry.tensor_layout)
            for entry in file.tensors.named_data
            if entry.tensor_layout is not None
        }
    except InvalidFile as error:
        error.nest(os.fspath(path))
        raise


def _laid_out(name: str, data: memoryview, layout: TensorLayout) -> Array:
    """The tensor of a segment, whose layout has been checked against its bytes."""
    order = list(layout.dim_order)
    stored = tuple(layout.sizes[dim] for dim in order)
    data = data[: element_count(stored) * layout.scalar_type.itemsize]
    try:
        array: Array = np.frombuffer(data, np.uint8).view(numpy_dtype(layout.scalar_type)).reshape(stored)
    except (ValueError, KeyError) as error:  # 65 dimensions, or an element type that numpy lacks
        raise InvalidFile(
            f"a tensor of {layout.scalar_type.name}: {error}", code=Error.InvalidExternalData, where=name
        ) from None
    if layout.scalar_type == ScalarType.BOOL and bytes(data).strip(b"\0\1"):
        raise InvalidFile("bools with bytes other than 0 and 1", code=Error.InvalidExternalData, where=name)
    return array.transpose([order.index(dim) for dim in range(len(order))])


class _Reading:
    """One file, of which nothing is believed."""

    def __init__(self, data: memoryview, source: str) -> None:
        self._source = source
        length = int.from_bytes(data[:8], "little")
        if data.nbytes < 8 or length > data.nbytes - 8:
            raise self._fault(f"a header of {length} bytes in a file of {data.nbytes}")
        self._data = data[8 + length :]
        try:
            header = json.loads(bytes(data[8 : 8 + length]))
        except (ValueError, RecursionError) as error:
            raise self._fault(f"its header is not JSON: {error}") from None
        if not isinstance(header, dict):
            raise self._fault("its header is not a JSON object")
        self._header = cast("dict[str, Any]", header)

    def tensors(self) -> dict[str, Array]:
        found = {
            name: self._tensor(name, entry) for name, entry in self._header.items() if name != "__metadata__"
        }
        # One behind the other up to the end: other bytes are of a damaged file.
        end = 0
        for start, following in sorted(self._header[name]["data_offsets"] for name in found):
            if start != end:
                raise self._fault(f"a tensor begins at byte {start}, the one before it ends at {end}")
            end = following
        if end != self._data.nbytes:
            raise self._fault(f"{self._data.nbytes - end} bytes behind its tensors")
        return found

    def _tensor(self, name: str, entry: Any) -> Array:
        try:
            kind, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
            scalar_type = _SCALAR_TYPES[kind]
            fits = (
                all(type(size) is int and size >= 0 for size in (*shape, start, end))
                and start <= end <= self._data.nbytes
                and end - start == element_count(shape) * scalar_type.itemsize
            )
        except (KeyError, TypeError, ValueError):
            raise self._fault(f"{name!r} is described as {str(entry)[:100]}") from None
        if not fits:
            raise self._fault(f"{name!r} has shape {list(shape)} and bytes {start} to {end}")
        data = self._data[start:end]
        if scalar_type == ScalarType.BOOL and bytes(data).strip(b"\0\1"):
            raise self._fault(f"{name!r} has bools with bytes other than 0 and 1")
        try:
            return np.frombuffer(data, np.uint8).view(numpy_dtype(scalar_type)).reshape(shape)
        except ValueError as error:
            # Arrays have 64 dimensions at most, and sizes whose product can be counted.
            raise self._fault(f"{name!r} has shape {str(list(shape))[:100]}: {error}") from None

    def _fault(self, message: str) -> InvalidFile:
        return InvalidFile(
            f"not a file of tensors: {message}", code=Error.InvalidExternalData, where=self._source
        )
