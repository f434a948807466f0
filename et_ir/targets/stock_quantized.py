"""Correct kernels of the stock runtime's quantized library.

A kernel is correct here if it computes what torch does.

Observed on the libraries of the executorch wheels, one call of each operator for each combination of element types;
`test/conformance/test_stock_limits.py` repeats them on 1.5.1. Others end the process, or give wrong numbers: they are
taken apart. Infinities, which `quantize_per_tensor` takes to the wrong end of the range, are not seen at compile time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ops.dtypes import F16, F32, F64, I8, I16, I32, I64, U8, DType

__all__ = ["computes_as_torch"]

Types = Mapping[str, tuple[DType, ...]]

_LEVELS: Final = (U8, I8, I16, I32)
_ONE: Final[Types] = {"scale": (F64,), "zero_point": (I64,)}
_MANY: Final[Types] = {"scales": (F64,), "zero_points": (I64,)}
_OF_ANY_WIDTH: Final[Types] = {"scales": (F32, F64), "zero_points": (I32, I64)}
_NOTHING: Final[Types] = {"input": ()}

_IN_1_4: Final[dict[str, Types]] = {
    "choose_qparams.tensor": _NOTHING,
    "choose_qparams_per_token_asymmetric": _NOTHING,
    "dequantize_per_channel": {"input": _LEVELS, "scales": (F32,), "zero_points": (I64,), "result": (F32,)},
    "dequantize_per_tensor": {"input": _LEVELS, "result": (F32, F16)},
    "dequantize_per_tensor.tensor": {"input": _LEVELS, **_ONE, "result": (F32, F16)},
    "dequantize_per_token": {"input": (I8,), **_MANY, "result": (F32,)},
    "quantize_per_channel": {"input": (F32,), **_MANY},
    "quantize_per_tensor": {"input": (F32, F16)},
    "quantize_per_tensor.tensor": {"input": (F32, F16), **_ONE},
    "quantize_per_token": {"input": (F32,), **_MANY},
}
"""The element types of arguments, and of the result, that a kernel takes; any for those that are not named."""

_IN_1_5: Final = _IN_1_4 | {
    "dequantize_per_channel": {"input": _LEVELS, **_OF_ANY_WIDTH, "result": (F32, F16)},
    "dequantize_per_token": {"input": _LEVELS, **_OF_ANY_WIDTH, "result": (F32, F16)},
    "quantize_per_channel": {"input": (F32, F16), **_MANY},
    "quantize_per_token": {"input": (F32, F16), **_MANY},
}


def computes_as_torch(op: EdgeOp, *, since_1_5: bool) -> bool:
    """Whether the kernel of an op of `quantized_decomposed`, of 1.5.1 or of 1.4.1, gives what torch gives."""
    kernels = _IN_1_5 if since_1_5 else _IN_1_4
    taken = kernels.get(op.name.removeprefix("edge.quantized_decomposed."), {})
    for name, types in taken.items():
        values = list(op.results) if name == "result" else [value for _, value in operands_of(op, name)]
        for value in values:
            if is_tensor(value.type) and dtype_of(value.type.element_type) not in types:
                return False
    return True
