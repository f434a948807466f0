"""Calls of the quantized operators, with what torch makes of them; of those that torch does not define, what the
stock kernels do, which the executorch wheel has for its compiler.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed
from kernel_oracle import Recorded

Q = torch.ops.quantized_decomposed
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
RANGES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.int16: (-32768, 32767),
    torch.uint16: (0, 65535),
    torch.int32: (-(2**31), 2**31 - 1),
}


def _normal(*shape: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _bytes(*shape: int, dtype: torch.dtype = torch.int8, seed: int = 6) -> torch.Tensor:
    least, most = RANGES[dtype]
    return torch.randint(least, most + 1, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _call(name: str, function: Any, *arguments: Any, **keywords: Any) -> Recorded:
    result = function(*arguments, **keywords)
    results = result if isinstance(result, tuple) else (result,)
    return Recorded(f"quantized_decomposed::{name}", (*arguments, *keywords.values()), results)


def quantized_calls() -> Iterator[Recorded]:
    """Every operator, for each of its types."""
    yield from _per_tensor()
    yield from _per_channel()
    yield from _per_row()
    yield from _choices()


def _per_tensor() -> Iterator[Recorded]:
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, 0.05, 0.15, 0.25, -0.25, 0.35])
    for kind, (least, most) in RANGES.items():
        zero = 3 if least else 100
        for dtype in FLOATS:
            for x in (_normal(4, 7).to(dtype) * 9, special.to(dtype)):
                yield _call("quantize_per_tensor.out", Q.quantize_per_tensor, x, 0.1, zero, least, most, kind)
        scale, offset = torch.tensor([0.1]), torch.tensor([zero])
        limits = torch.tensor([least]), torch.tensor([most])
        x, q = _normal(4, 7), _bytes(4, 7, dtype=kind)
        quantize, restore = Q.quantize_per_tensor, Q.dequantize_per_tensor
        yield _call("quantize_per_tensor.Tensor_out", quantize.tensor, x, scale, offset, least, most, kind)
        yield _call("quantize_per_tensor.Tensor2_out", quantize.tensor2, x, scale, offset, *limits, kind)
        for dtype in (None, torch.float64, *FLOATS):
            how = {"out_dtype": dtype}
            yield _call("dequantize_per_tensor.out", restore, q, 0.1, zero, least, most, kind, **how)
            yield _call(
                "dequantize_per_tensor.Tensor_out", restore.tensor, q, scale, offset, least, most, kind, **how
            )
            yield _call(
                "dequantize_per_tensor.Tensor2_out", restore.tensor2, q, scale, offset, *limits, kind, **how
            )
    yield _call("quantize_per_tensor.out", Q.quantize_per_tensor, _normal(9), 0.01, 1, -5, 6, torch.int8)
    yield _call("convert_element_type.no_fuse_out", Q.convert_element_type.no_fuse, _normal(9), torch.int32)


def _per_channel() -> Iterator[Recorded]:
    for axis, count in ((0, 2), (1, 3), (2, 4)):
        for kind in (torch.int8, torch.uint8, torch.int32):
            least, most = RANGES[kind]
            x, q = _normal(2, 3, 4) * 9, _bytes(2, 3, 4, dtype=kind)
            for scale_type in (torch.float32, torch.float64):
                scales = (_normal(count).abs() + 0.05).to(scale_type)
                for zero_type in (torch.int64, torch.int32, torch.float32):
                    zeros = torch.arange(count).to(zero_type)
                    yield _call(
                        "quantize_per_channel.out",
                        Q.quantize_per_channel,
                        x,
                        scales,
                        zeros,
                        axis,
                        least,
                        most,
                        kind,
                    )
                    yield _call(
                        "dequantize_per_channel.out",
                        Q.dequantize_per_channel,
                        q, scales, zeros, axis, least, most, kind, out_dtype=None,
                    )  # fmt: skip
        scales, zeros = _normal(count).abs() + 0.05, torch.arange(count)
        yield _call(
            "dequantize_per_channel.out",
            Q.dequantize_per_channel,
            _bytes(2, 3, 4), scales, None, axis, -128, 127, torch.int8, out_dtype=torch.float16,
        )  # fmt: skip
        yield _call(
            "fake_quant_per_channel.out",
            Q.fake_quant_per_channel,
            _normal(2, 3, 4) * 9,
            scales,
            zeros,
            axis,
            -8,
            7,
        )


def _per_row() -> Iterator[Recorded]:
    for dtype in FLOATS:
        x = (_normal(2, 3, 8) * 3).to(dtype)
        scales, zeros = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
        q = Q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        for s, z in ((scales, zeros), (scales.float(), zeros.int()), (scales.to(dtype), zeros.to(dtype))):
            yield _call("quantize_per_token.out", Q.quantize_per_token, x, s, z, -128, 127, torch.int8)
            yield _call(
                "dequantize_per_token.out", Q.dequantize_per_token, q, s, z, -128, 127, torch.int8, dtype
            )
        x, scales = x[0], (_normal(3, 2).abs() + 0.1).to(dtype)
        for zeros in (torch.arange(6).reshape(3, 2), torch.ones(3, 2, dtype=dtype)):
            yield _call(
                "quantize_per_channel_group.out",
                Q.quantize_per_channel_group,
                x, scales, zeros, -8, 7, torch.int8, 4,
            )  # fmt: skip
            for given in (zeros, None):
                yield _call(
                    "dequantize_per_channel_group.out",
                    Q.dequantize_per_channel_group,
                    q[0], scales, given, -8, 7, torch.int8, 4, dtype,
                )  # fmt: skip


def _choices() -> Iterator[Recorded]:
    for dtype in FLOATS:
        for x in (_normal(3, 5) * 4, _normal(3, 5).abs(), -_normal(3, 5).abs(), torch.zeros(2, 4)):
            value = x.to(dtype)
            yield _call("choose_qparams_per_token.out", Q.choose_qparams_per_token, value, torch.int8)
            for name in ("choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl"):
                yield _call(f"{name}.out", getattr(Q, name), value, torch.int8)
            for kind in (torch.int8, torch.uint8):
                least, most = RANGES[kind]
                for name in ("choose_qparams", "choose_qparams_symmetric"):
                    function = getattr(Q, name).tensor
                    yield _call(f"{name}.Tensor_out", function, value, least, most, 1e-5, kind)


def recorded_stock_calls() -> list[Recorded]:
    """`stock_calls`, made by another process: in this one the kernels would become part of the stock
    runtime.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.pickle"
        code = (
            "import pickle, sys; sys.path[:0] = sys.argv[2:]; import kernel_samples_quantized as k;"
            "pickle.dump(list(k.stock_calls()), open(sys.argv[1], 'wb'))"
        )
        subprocess.run([sys.executable, "-c", code, path, *sys.path], check=True, stderr=subprocess.DEVNULL)
        calls: list[Recorded] = pickle.loads(path.read_bytes())
    return calls


def stock_calls() -> Iterator[Recorded]:
    """Operators of the stock runtime only: its kernels, called through torch, are the oracle. A call that they
    refuse ends the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import executorch.kernels.quantized  # noqa: F401 loads the kernels
        from executorch.exir.passes import _quant_patterns_and_replacements  # noqa: F401 defines the embeddings

    a, b = _bytes(4, 9, dtype=torch.uint8), _bytes(4, 9, dtype=torch.uint8, seed=9)
    for first, second in (((0.1, 3), (0.2, 5)), ((0.05, 128), (0.03, 7))):
        arguments = (a, *first, 0, 255, b, *second, 0, 255, 0.3, 1, 0, 255)
        yield Recorded(
            "quantized_decomposed::add.out", arguments, (Q.add.out(*arguments, out=torch.empty_like(a)),)
        )
    indices = torch.tensor([[3, 0, 1], [2, 2, 4]])
    for dtype in FLOATS:
        for shape in ((5,), (5, 2)):
            scales, zeros = (_normal(*shape).abs() + 0.1).to(dtype), _normal(*shape).to(dtype)
            for given in (None, zeros):
                for name, weight, limits in (
                    ("embedding_byte", _bytes(5, 8), (-128, 127)),
                    ("embedding_byte", _bytes(5, 8, dtype=torch.uint8), (0, 255)),
                    ("embedding_4bit", _bytes(5, 4, dtype=torch.uint8), (-8, 7)),
                    ("embedding_2bit", _bytes(5, 2, dtype=torch.uint8), (-2, 1)),
                ):
                    arguments = (weight, scales, given, *limits, indices)
                    packet = getattr(Q, name)
                    yield _call(f"{name}.out", packet.default, *arguments)
                    for kind in FLOATS:
                        if dtype == kind:
                            yield _call(f"{name}.dtype_out", packet.dtype, *arguments, dtype=kind)
    for dtype in (torch.float32, torch.float16):
        x, weight = _normal(3, 6).to(dtype), _bytes(6, 4)
        scales = (_normal(6).abs() * 0.1).to(dtype)
        arguments = (x, weight, scales, None)
        result = Q.mixed_mm.out(*arguments, out=torch.empty(3, 4, dtype=dtype))
        yield Recorded("quantized_decomposed::mixed_mm.out", arguments, (result,))
        arguments = (x, weight.t().contiguous(), (_normal(4).abs() * 0.1).to(dtype), None, None)
        result = Q.mixed_linear.out(*arguments, out=torch.empty(3, 4, dtype=dtype))
        yield Recorded("quantized_decomposed::mixed_linear.out", arguments, (result,))
