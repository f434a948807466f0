"""Random calls of the operators of stock's quantized library, as files, and what its kernels compute otherwise.

Numbers are chosen so that edges are common: values between two integers, beyond the range, scales from 1e-6 to 1e3,
zero points at the ends of the range, the first and the last axis, one element, and groups of odd sizes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # defines operators  # pyright: ignore[reportUnusedImport]

from dev.calls import RecordedCall, module_of
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import edge_passes, executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, write

AVOIDING = ("legalize", "decompose-quantized", "kernel-limits")
"""The passes that keep kernels from calls that they compute otherwise than torch."""
RANGES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.int16: (-(1 << 15), (1 << 15) - 1),
    torch.int32: (-(1 << 31), (1 << 31) - 1),
}


class Call(RecordedCall):
    """A call by name: torch does not define all operators."""

    def __init__(self, operator: str, *arguments: Any) -> None:
        self.operator = operator
        self.args = arguments
        self.kwargs = {}
        self.results = ()

    @property
    def name(self) -> str:
        return f"quantized_decomposed.{self.operator}"

    def __repr__(self) -> str:
        return str(self)


def compiled(call: Call) -> tuple[bytes, list[torch.Tensor]]:
    """The file of a program with one call, and its inputs."""
    module, _, inputs = module_of(call, infer=True)
    run_passes(module, edge_passes())
    passes = executorch_passes(ExecutorchBackendConfig(target="stock-1.5-quantized"))
    run_passes(module, [one for one in passes if one.name not in AVOIDING])
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    return stream.getvalue(), inputs


# -- random numbers


class Random:
    """Sources of operands, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def shape(self, least: int = 1, most: int = 4) -> tuple[int, ...]:
        return tuple(int(n) for n in self.rng.integers(1, 8, int(self.rng.integers(least, most + 1))))

    def scales(self, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        found = 10.0 ** self.rng.uniform(-6, 3, shape)
        if self.rng.random() < 0.3:  # ties are likely with powers of two
            found = 2.0 ** np.rint(np.log2(found))
        if self.rng.random() < 0.2:
            return torch.from_numpy(np.asarray(found)).to(dtype)
        return torch.from_numpy(np.asarray(found, np.float32).astype(np.float64)).to(dtype)

    def limits(self, dtype: torch.dtype) -> tuple[int, int]:
        least, most = RANGES[dtype]
        if dtype == torch.int8 and self.rng.random() < 0.4:
            return self.one_of((-127, 127), (-8, 7), (0, 127))
        return least, most

    def zero_points(
        self, limits: tuple[int, int], *shape: int, dtype: torch.dtype = torch.int64
    ) -> torch.Tensor:
        low, high = max(limits[0], -(1 << 20)), min(limits[1], 1 << 20)
        found = self.rng.integers(low, high + 1, shape)
        ends = self.rng.integers(0, 4, shape)
        found = np.where(ends == 0, low, np.where(ends == 1, high, found))
        return torch.from_numpy(np.asarray(found)).to(dtype)

    def integers(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        least, most = RANGES[dtype]
        return torch.from_numpy(self.rng.integers(least, most + 1, shape)).to(dtype)

    def reals(self, scale: torch.Tensor, *shape: int, dtype: torch.dtype, finite: bool) -> torch.Tensor:
        """Multiples of halves of a scale that broadcasts to the shape, within and beyond the range."""
        levels = self.rng.normal(0, self.one_of(3.0, 60.0, 400.0), shape)
        levels = np.where(self.rng.random(shape) < 0.4, np.rint(levels * 2) / 2, levels)
        found = torch.from_numpy(np.asarray(levels)) * scale.double()
        if not finite:
            special = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e38, -3e38, -0.0])
            chosen = torch.from_numpy(self.rng.integers(0, 24, shape))
            found = torch.where(chosen < 6, special[chosen.clamp(max=5)].double(), found)
        return found.to(dtype)


# -- calls


def quantize_per_tensor(random: Random) -> Call:
    kind = random.one_of(*RANGES)
    limits, scale, shape = random.limits(kind), random.scales(), random.shape()
    x = random.reals(scale, *shape, dtype=random.one_of(torch.float32, torch.float16), finite=False)
    zero = int(random.zero_points(limits))
    if random.one_of(False, True):
        return Call("quantize_per_tensor.tensor", x, scale.reshape(1), torch.tensor([zero]), *limits, kind)
    return Call("quantize_per_tensor", x, float(scale), zero, *limits, kind)


def dequantize_per_tensor(random: Random) -> Call:
    kind = random.one_of(*RANGES)
    limits, scale = random.limits(kind), random.scales()
    q, zero = random.integers(*random.shape(), dtype=kind), int(random.zero_points(limits))
    if random.one_of(False, True):
        scales, zeros = scale.reshape(1), torch.tensor([zero])
        return Call("dequantize_per_tensor.tensor", q, scales, zeros, *limits, kind)
    return Call("dequantize_per_tensor", q, float(scale), zero, *limits, kind)


def _channels(random: Random) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """A shape, an axis of it, and the shape in which what belongs to channels broadcasts."""
    shape = random.shape(1, 4)
    axis = random.one_of(0, len(shape) - 1, -1, int(random.rng.integers(len(shape))))
    along = [1] * len(shape)
    along[axis] = -1
    return shape, axis, tuple(along)


def quantize_per_channel(random: Random) -> Call:
    kind = random.one_of(*RANGES)
    limits = random.limits(kind)
    shape, axis, along = _channels(random)
    scales = random.scales(shape[axis])
    x = random.reals(
        scales.reshape(along), *shape, dtype=random.one_of(torch.float32, torch.float16), finite=False
    )
    return Call(
        "quantize_per_channel", x, scales, random.zero_points(limits, shape[axis]), axis, *limits, kind
    )


def dequantize_per_channel(random: Random) -> Call:
    kind = random.one_of(*RANGES)
    limits = random.limits(kind)
    shape, axis, _ = _channels(random)
    scales = random.scales(shape[axis], dtype=random.one_of(torch.float64, torch.float32))
    zeros = random.zero_points(limits, shape[axis])
    return Call(
        "dequantize_per_channel",
        random.integers(*shape, dtype=kind), scales, random.one_of(None, zeros), axis, *limits, kind,
    )  # fmt: skip


def quantize_per_token(random: Random) -> Call:
    kind = random.one_of(torch.int8, torch.uint8)
    limits, shape = random.limits(kind), random.shape(2, 3)
    rows = (*shape[:-1], 1)
    scales = random.scales(*rows)
    x = random.reals(scales, *shape, dtype=torch.float32, finite=False)
    return Call("quantize_per_token", x, scales, random.zero_points(limits, *rows), *limits, kind)


def dequantize_per_token(random: Random) -> Call:
    kind = random.one_of(torch.int8, torch.uint8)
    limits, shape = random.limits(kind), random.shape(2, 3)
    rows = (*shape[:-1], 1)
    q, scales, zeros = (
        random.integers(*shape, dtype=kind),
        random.scales(*rows),
        random.zero_points(limits, *rows),
    )
    return Call("dequantize_per_token", q, scales, zeros, *limits, kind, torch.float32)


def _range(random: Random, *shape: int) -> torch.Tensor:
    """Numbers on one or both sides of zero, of any size."""
    x = torch.from_numpy(random.rng.normal(0, 1, shape)).float() * random.scales().float()
    return random.one_of(x, x.abs(), -x.abs(), x * 0, x * 1e-6)


def choose_qparams(random: Random) -> Call:
    kind = random.one_of(torch.int8, torch.uint8)
    return Call(
        "choose_qparams.tensor", _range(random, *random.shape()), *random.limits(kind), 2.0**-12, kind
    )


def choose_qparams_per_token_asymmetric(random: Random) -> Call:
    return Call("choose_qparams_per_token_asymmetric", _range(random, *random.shape(2, 3)), torch.int8)


def add(random: Random) -> Call:
    kind = torch.uint8
    shape = random.shape()
    sides: list[Any] = []
    for _ in range(2):
        zero = int(random.zero_points(RANGES[kind]))
        sides += [random.integers(*shape, dtype=kind), float(random.scales()), zero, *RANGES[kind]]
    out = float(random.scales()), int(random.zero_points(RANGES[kind])), *RANGES[kind]
    return Call("add", *sides, *out)


def _embedding(name: str, bits: int) -> Callable[[Random], Call]:
    def call(random: Random) -> Call:
        rows, groups = (int(n) for n in random.rng.integers(1, 7, 2))
        columns = groups * int(random.one_of(1, 3, 5)) * (8 // bits)
        kind = random.one_of(torch.int8, torch.uint8) if bits == 8 else torch.uint8
        weight = random.integers(rows, columns * bits // 8, dtype=kind)
        dtype = random.one_of(torch.float32, torch.float16)
        shape = (rows, groups) if groups > 1 or random.one_of(False, True) else (rows,)
        scales = random.scales(*shape).clamp(1e-4, 100).to(dtype)
        half = 1 << (bits - 1)
        limits = RANGES[kind] if bits == 8 else (-half, half - 1)
        zeros = random.one_of(
            None,
            random.zero_points(limits, *shape, dtype=dtype),
            torch.from_numpy(random.rng.uniform(*limits, shape)).to(dtype),
        )
        indices = torch.from_numpy(random.rng.integers(0, rows, random.shape(1, 2)))
        arguments = (weight, scales, zeros, *limits, indices)
        if random.one_of(False, True):
            # The stock runtime takes zero points of the result's type only.
            out = dtype if zeros is not None else random.one_of(torch.float32, torch.float16)
            return Call(f"{name}.dtype", *arguments, out)
        return Call(name, *arguments)

    return call


def _mixed(random: Random, *, transposed: bool) -> Call:
    rows, inner, columns = (int(n) for n in random.rng.integers(1, 40, 3))
    dtype = random.one_of(torch.float32, torch.float16)
    x = torch.from_numpy(random.rng.normal(0, 1, (rows, inner))).to(dtype)
    weight = random.integers(*((columns, inner) if transposed else (inner, columns)), dtype=torch.int8)
    scales = torch.from_numpy(random.rng.uniform(0.001, 0.1, weight.shape[0])).to(dtype)
    if transposed:
        return Call("mixed_linear", x, weight, scales, None, random.one_of(None, dtype))
    return Call("mixed_mm", x, weight, scales, None)


def mixed_mm(random: Random) -> Call:
    return _mixed(random, transposed=False)


def mixed_linear(random: Random) -> Call:
    return _mixed(random, transposed=True)


FAMILIES: dict[str, Callable[[Random], Call]] = {
    one.__name__: one
    for one in (
        quantize_per_tensor,
        dequantize_per_tensor,
        quantize_per_channel,
        dequantize_per_channel,
        quantize_per_token,
        dequantize_per_token,
        choose_qparams,
        choose_qparams_per_token_asymmetric,
        add,
        mixed_mm,
        mixed_linear,
    )
} | {
    name: _embedding(name, bits)
    for name, bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2))
}
"""Sources of random calls, by operator."""


def calls(family: str, count: int) -> Iterator[Call]:
    """The same `count` calls each time."""
    random = Random(sum(map(ord, family)))
    for _ in range(count):
        yield FAMILIES[family](random)
