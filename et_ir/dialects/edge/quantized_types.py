"""Element types of quantized operators, which probing cannot tell: a literal of a call says
which type it is about, and torch defines some of them nowhere."""

from __future__ import annotations

from typing import Final

__all__ = ["QUANTIZED_ROWS"]

_NARROW: Final = "input: float but f64"
_LEVELS: Final = "input: integer but i64"
_ONE: Final = "scale: float | zero_point: real"
_LIMITS: Final = "quant_min: real | quant_max: real"
_MANY: Final = "scales: float | zero_points: real"
_TABLE: Final = "weight_scales, weight_zero_points: float but f64 | indices: index"
_SCALED: Final = "weight_scales: f32 f64 | bias: i32 f32"
_MATRIX: Final = "weight: i8"

QUANTIZED_ROWS: Final = {
    f"quantized_decomposed.{name}": row
    for name, row in {
        "_choose_qparams_per_token_asymmetric_impl": "input: float | -> f64, i64",
        "add": "a, b: integer but i64 | -> a",
        "choose_qparams.tensor": f"{_NARROW} | -> f64, i64",
        "choose_qparams_per_token": "input: float | -> ?",
        "choose_qparams_per_token_asymmetric": "input: float | -> f64, i64",
        "choose_qparams_symmetric.tensor": f"{_NARROW} | -> f64, i64",
        "convert_element_type.no_fuse": "input: any | -> ?",
        "dequantize_per_channel": f"{_LEVELS} | {_MANY} | -> ?",
        "dequantize_per_channel_group": f"{_LEVELS} | {_MANY} | -> ?",
        "dequantize_per_tensor": f"{_LEVELS} | -> ?",
        "dequantize_per_tensor.tensor": f"{_LEVELS} | {_ONE} | -> ?",
        "dequantize_per_tensor.tensor2": f"{_LEVELS} | {_ONE} | {_LIMITS} | -> ?",
        "dequantize_per_token": f"{_LEVELS} | {_MANY} | -> ?",
        "embedding_2bit": f"weight: ui8 | {_TABLE} | -> weight_scales",
        "embedding_2bit.dtype": f"weight: ui8 | {_TABLE} | -> ?",
        "embedding_4bit": f"weight: ui8 | {_TABLE} | -> weight_scales",
        "embedding_4bit.dtype": f"weight: ui8 | {_TABLE} | -> ?",
        "embedding_byte": f"weight: ui8 i8 | {_TABLE} | -> weight_scales",
        "embedding_byte.dtype": f"weight: ui8 i8 | {_TABLE} | -> ?",
        "fake_quant_per_channel": f"input: f32 | {_MANY} | -> f32",
        "mixed_linear": f"input, weight_scales: f16 f32 | {_MATRIX} | -> ?",
        "mixed_mm": f"input, weight_scales: f16 f32 | {_MATRIX} | -> input",
        "quantize_per_channel": f"{_NARROW} | {_MANY} | -> ?",
        "quantize_per_channel_group": f"input: float | {_MANY} | -> ?",
        "quantize_per_tensor": f"{_NARROW} | -> ?",
        "quantize_per_tensor.tensor": f"{_NARROW} | {_ONE} | -> ?",
        "quantize_per_tensor.tensor2": f"{_NARROW} | {_ONE} | {_LIMITS} | -> ?",
        "quantize_per_token": f"input: float | {_MANY} | -> ?",
    }.items()
} | {
    f"integer.{name}": row
    for name, row in {
        "add": "input, other: i8 | -> input",
        "avg_pool2d": "input: i8 | -> input",
        "convolution": f"input, weight: i8 | {_SCALED} | -> input",
        "linear": f"input, weight: i8 | {_SCALED} | -> input",
        "lookup": "input, table: i8 | -> input",
        "max_pool2d": "input: i8 | -> input",
        "mean.dim": "input: i8 | -> input",
        "mul": "input, other: i8 | -> input",
    }.items()
}
"""The rows of `dtype_table.txt` for each operator, one each, without its name."""
