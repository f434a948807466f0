"""Calls of torch's operators of `quantized_decomposed`, for the branches of what is inferred and decomposed."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators

from support.decompose_cases import Case, f, i, p

Q = torch.ops.quantized_decomposed

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
LIMITS = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}


def quantized() -> Iterator[Case]:
    yield from _with_one_scale()
    yield from _by_channel()
    yield from _by_row()
    yield from _chosen()


def _special() -> torch.Tensor:
    return torch.tensor([float("inf"), -float("inf"), 0.0, 0.05, 0.15, 0.25, -0.25, 0.35, 1e30])


def _levels(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    least, most = LIMITS[dtype]
    return i(*shape, low=least, high=most + 1, dtype=dtype)


def _with_one_scale() -> Iterator[Case]:
    for kind, (least, most) in LIMITS.items():
        zero = 3 if least else 100
        scale, offset = torch.tensor([0.1]), torch.tensor([zero])
        limits = torch.tensor([least]), torch.tensor(most)
        q = _levels(4, 7, dtype=kind)
        for dtype in FLOATS:
            # What a float of twice the range of i32 becomes there depends on the machine.
            for x in (f(4, 7, dtype=dtype) * 9, *([] if kind == torch.int32 else [_special().to(dtype)])):
                yield Q.quantize_per_tensor, x, 0.1, zero, least, most, kind
                yield Q.quantize_per_tensor.tensor, x, scale, offset, least, most, kind
        yield Q.quantize_per_tensor.tensor2, f(4, 7), scale, offset, *limits, kind
        yield Q.quantize_per_tensor.tensor, f(7), scale.double()[0], offset.int(), least, most, kind
        for out in (None, torch.float64, *FLOATS):
            how = {"out_dtype": out}
            yield Q.dequantize_per_tensor, q, 0.1, zero, least, most, kind, how
            yield Q.dequantize_per_tensor.tensor, q, scale.double(), offset, least, most, kind, how
        yield Q.dequantize_per_tensor.tensor2, q, scale, offset, *limits, kind
    yield Q.quantize_per_tensor, f(9), 0.01, 1, -5, 6, torch.int8
    yield Q.quantize_per_tensor, f(), 0.01, 1, -5, 6, torch.int8
    yield Q.convert_element_type.no_fuse, f(9), torch.int32
    yield Q.convert_element_type.no_fuse, i(2, 3), torch.float16


def _by_channel() -> Iterator[Case]:
    for axis, count in ((0, 2), (1, 3), (-1, 4)):
        for kind in (torch.int8, torch.uint8, torch.int32):
            least, most = LIMITS[kind]
            x, q = f(2, 3, 4) * 9, _levels(2, 3, 4, dtype=kind)
            for scale_type in (torch.float32, torch.float64):
                scales = (p(count) + 0.05).to(scale_type)
                for zero_type in (torch.int64, torch.int32, torch.float32):
                    zeros = torch.arange(count).to(zero_type)
                    yield Q.quantize_per_channel, x, scales, zeros, axis, least, most, kind
                    yield Q.dequantize_per_channel, q, scales, zeros, axis, least, most, kind
        scales, zeros = p(count), torch.arange(count)
        levels = _levels(2, 3, 4, dtype=torch.int8)
        for out in FLOATS:
            how = {"out_dtype": out}
            yield Q.dequantize_per_channel, levels, scales, None, axis, -128, 127, torch.int8, how
        yield Q.quantize_per_channel, f(2, 3, 4).half() * 9, scales, zeros, axis, -128, 127, torch.int8
        if axis >= 0:
            yield Q.fake_quant_per_channel, f(2, 3, 4) * 9, scales, zeros, axis, -8, 7
            yield Q.fake_quant_per_channel, f(2, 3, 4), scales.double(), zeros.int(), axis, -8, 7


def _by_row() -> Iterator[Case]:
    for dtype in FLOATS:
        x = f(2, 3, 8, dtype=dtype) * 3
        scales, zeros = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
        q = Q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        for s, z in ((scales, zeros), (scales.float(), zeros.int()), (scales.to(dtype), zeros.to(dtype))):
            yield Q.quantize_per_token, x, s, z, -128, 127, torch.int8
            yield Q.dequantize_per_token, q, s, z, -128, 127, torch.int8, dtype
        x, scales = x[0], (p(3, 2) + 0.1).to(dtype)
        for zeros in (torch.arange(6).reshape(3, 2), torch.ones(3, 2, dtype=dtype)):
            yield Q.quantize_per_channel_group, x, scales, zeros, -8, 7, torch.int8, 4
            for given in (zeros, None):
                yield Q.dequantize_per_channel_group, q[0], scales, given, -8, 7, torch.int8, 4, dtype
    column = p(3, 1), torch.zeros(3, 1, dtype=torch.int32)
    yield Q.quantize_per_channel_group, f(3, 8), *column, -8, 7, torch.int8, 128


def _chosen() -> Iterator[Case]:
    for dtype in FLOATS:
        for x in (f(3, 5) * 4, f(3, 5).abs(), -f(3, 5).abs(), torch.zeros(2, 4)):
            value = x.to(dtype)
            yield Q.choose_qparams_per_token, value, torch.int8
            yield Q.choose_qparams_per_token_asymmetric, value, torch.int8
            yield Q._choose_qparams_per_token_asymmetric_impl, value, torch.int8
            for kind in (torch.int8, torch.uint8):
                yield Q.choose_qparams.tensor, value, *LIMITS[kind], 1e-5, kind
                yield Q.choose_qparams_symmetric.tensor, value, *LIMITS[kind], 1e-5, kind
