"""Constants in blobs of TOSA: types, shapes and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.tosa.format.blob import block_of, constant_bytes, constant_data, read_tosa
from et_backends.tosa.format.operators import TosaType
from et_schema.delegate_constants import TORCH, DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    for tensor in block_of(read_tosa(blob)).tensors:
        key = "" if tensor.data else tensor.variable_name or ""
        if tensor.data or key:
            dtype = tensor.type.name.lower()
            dtype = TORCH.get(dtype, dtype)
            nbytes = constant_bytes(TosaType(tuple(tensor.shape), tensor.type))
            is_elsewhere = bool(key) and key not in named
            data = None if is_elsewhere else constant_data(tensor, named)
            yield DelegateConstant(dtype, list(tensor.shape), nbytes, key, data, tensor.name)
