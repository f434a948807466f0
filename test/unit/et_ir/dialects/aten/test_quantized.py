"""Result types of the quantised operators that only runtimes have, and what all of them refuse."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import TensorType, f16, f32, f64, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from dev.examples import parse_example
from dev.quantized_calls import RUNTIME_EXAMPLES
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.schema.inference import infer
from et_ir.dialects.schema.literals import ELEMENT_TYPES

U8 = ELEMENT_TYPES["ui8"]


def value(*shape: int, element: Attribute = f32) -> SSAValue:
    return xdsl_test.TestOp(result_types=[TensorType(element, shape)]).results[0]


@pytest.mark.parametrize("name", RUNTIME_EXAMPLES)
def test_types_of_what_runtimes_have(name: str) -> None:
    op: Any = parse_example(RUNTIME_EXAMPLES[name])
    assert infer(op) == tuple(op.result_types)
    types = (TensorType(f32, [9]),) if name.endswith("mm") else (TensorType(i64, [9]),)
    with pytest.raises(Exception, match=r"\[result_c2\]"):
        op.clone_without_regions().create(
            operands=op.operands, result_types=types, properties=op.properties
        ).verify()


QUANTIZED = {
    "type": (
        "quantize_per_tensor",
        (value(3, element=f64), 0.1, 0, -128, 127, i8),
        "'input': expected float32 or float16 or bfloat16, got float64",
    ),
    "levels": ("quantize_per_tensor", (value(3), 0.1, 0, -128, 127, i64), "'dtype': expected .*, got int64"),
    "limit": (
        "quantize_per_tensor",
        (value(3), 0.1, 0, -129, 127, i8),
        r"'quant_min': expected a number in \[-128, 127\], got -129",
    ),
    "scale": (
        "quantize_per_tensor",
        (value(3), 0.0, 0, -128, 127, i8),
        "'scale': expected a number other than zero",
    ),
    "scales": (
        "quantize_per_tensor.tensor",
        (value(3), value(2), value(1, element=i64), -128, 127, i8),
        r"'scale': expected one element, got \[2\]",
    ),
    "stored": (
        "dequantize_per_tensor",
        (value(3, element=U8), 0.1, 0, -128, 127, i8),
        "'input': expected int8, got uint8",
    ),
    "result": (
        "dequantize_per_tensor",
        (value(3, element=i8), 0.1, 0, -128, 127, i8, i32),
        "'out_dtype': expected .*, got int32",
    ),
    "axis": (
        "quantize_per_channel",
        (value(2, 3), value(3), value(3, element=i64), 2, -128, 127, i8),
        "'axis': expected a dimension of a tensor of rank 2, got 2",
    ),
    "channels": (
        "quantize_per_channel",
        (value(2, 3), value(2), value(3, element=i64), 1, -128, 127, i8),
        r"'scales': expected shape \[3\], that of dimension 1",
    ),
    "channel scales": (
        "quantize_per_channel",
        (value(2, 3), value(3, element=i64), value(3, element=i64), 1, -128, 127, i8),
        "'scales': expected a float type, got int64",
    ),
    "fake": (
        "fake_quant_per_channel",
        (value(2, 3, element=f16), value(3), value(3), 1, -8, 7),
        "'input': expected float32, got float16",
    ),
    "rows": (
        "quantize_per_token",
        (value(2, 3), value(3, 1), value(2, 1), -128, 127, i8),
        "'scales': expected 2 elements",
    ),
    "no rows": ("choose_qparams_per_token", (value(), i8), "'input': expected rows that are not empty"),
    "token type": ("choose_qparams_per_token", (value(2, 3), U8), "'dtype': expected int8, got uint8"),
    "group": (
        "quantize_per_channel_group",
        (value(2, 6), value(2, 2), value(2, 2), -8, 7, i8, 4),
        "'group_size': expected a divisor of 6, got 4",
    ),
    "group of one": (
        "quantize_per_channel_group",
        (value(2, 6), value(2, 6), value(2, 6), -8, 7, i8, 1),
        "'group_size': expected a number above 1, got 1",
    ),
    "groups": (
        "dequantize_per_channel_group",
        (value(2, 6, element=i8), value(2, 3), None, -8, 7, i8, 3, f32),
        "'scales': expected 4 elements",
    ),
    "range": ("choose_qparams.tensor", (value(3), 1, 127, 1e-5, i8), "expected limits on both sides of 0"),
    "nibbles": (
        "embedding_4bit",
        (value(5, 4, element=i8), value(5), None, -8, 7, value(2, element=i64)),
        "'weight': expected uint8, got int8",
    ),
    "range of nibbles": (
        "embedding_4bit",
        (value(5, 4, element=U8), value(5), None, 0, 15, value(2, element=i64)),
        r"expected the limits \[-8, 7\], got \[0, 15\]",
    ),
    "mixed": (
        "mixed_mm",
        (value(2, 3), value(4, 5, element=i8), value(4), None),
        "'weight': expected 3 rows",
    ),
    "mixed zero": (
        "mixed_mm",
        (value(2, 3), value(3, 5, element=i8), value(3), value(3)),
        "'weight_zero_points': expected None",
    ),
}


@pytest.mark.parametrize("name", QUANTIZED)
@pytest.mark.parametrize("dialect", [OP_BY_NAME, EDGE], ids=["aten", "edge"])
def test_refuses_what_the_operator_does_not_take(dialect: dict[str, Any], name: str) -> None:
    operator, arguments, message = QUANTIZED[name]
    with pytest.raises(TypeError, match=message):
        dialect[f"quantized_decomposed.{operator}"].make(*arguments)
