"""Constants in blobs of TOSA: types, shapes and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from et_backends.tosa.format.blob import block_of, constant_bytes, read_tosa
from et_backends.tosa.format.operators import TosaType
from et_schema.delegate_constants import TORCH, DelegateConstant

__all__ = ["constants"]


def constants(blob: memoryview, named: Mapping[str, memoryview]) -> Iterator[DelegateConstant]:
    """The constants of a blob, in its order; `named` is the named data of the program."""
    for tensor in block_of(read_tosa(blob)).tensors:
        if tensor.data:
            dtype = tensor.type.name.lower()
            dtype = TORCH.get(dtype, dtype)
            nbytes = constant_bytes(TosaType(tuple(tensor.shape), tensor.type))
            data = memoryview(tensor.data)[:nbytes]  # without padding
            yield DelegateConstant(dtype, list(tensor.shape), nbytes, "", data, tensor.name)
