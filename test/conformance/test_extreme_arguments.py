"""Extreme arguments end in results or typed errors: samples with one argument at a time replaced by a
number, a list, a shape or a type at the end of its range, with outputs that take any shape.

A crash of the process is what this looks for most: numpy trusts the sizes that it computes.
"""

from __future__ import annotations

import functools
import math
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from kernel_oracle import FAMILIES, Recorded, as_argument, returns_list, run_kernel
from kernel_samples import collect
from test_error_inputs import TYPES, AnyShape, Refused

from et_schema.errors import Error, ExecutorchError, Trap
from et_vm.values import addresses, element_count

MEMORY_LIMIT = 1 << 26
SECONDS = 20

INTEGERS = (-1, 0, 1, 7, 2**31, 2**62, -(2**63))
FLOATS = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e308)


class Limited(AnyShape):
    """An output that takes any shape that a tensor of some megabytes can have."""

    def resize(self, sizes: Any) -> None:
        assert all(size >= 0 for size in sizes), sizes
        if not addresses(sizes, self.dtype.itemsize):
            raise ExecutorchError(Error.NotSupported, "no such shape")
        if element_count(sizes) * self.dtype.itemsize > MEMORY_LIMIT:
            raise ExecutorchError(Error.MemoryAllocationFailed, "too large")
        super().resize(sizes)


def extremes(value: object) -> Iterator[object]:
    """Replacements of an argument."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from INTEGERS
    elif isinstance(value, float):
        yield from FLOATS
    elif isinstance(value, str):
        yield "bogus"
    elif isinstance(value, torch.Tensor):
        yield from _tensors(value)
    elif isinstance(value, list | tuple):
        yield from _lists(list(value))


def _tensors(value: torch.Tensor) -> Iterator[torch.Tensor]:
    yield torch.zeros((), dtype=value.dtype)
    yield value[None].clone()
    if value.dim():
        yield torch.zeros((0, *value.shape[1:]), dtype=value.dtype)
        yield torch.zeros((*value.shape[:-1], 0), dtype=value.dtype)
        yield torch.cat([value, value])
        if value.numel():
            yield value[0].contiguous()
            yield value[..., 0].contiguous()
    if not value.dtype.is_complex:
        yield value.to(torch.float32 if value.dtype == torch.int64 else torch.int64)
        yield value.to(torch.bool)
        yield value.to(torch.int8)
    if value.dtype in (torch.int32, torch.int64):
        info = torch.iinfo(value.dtype)
        for number in (-1, info.max, info.min, info.max // 2 + 1):
            yield torch.full_like(value, number)
    elif value.dtype.is_floating_point:
        for number in (math.nan, math.inf, -6e4, 0.0):
            yield torch.full_like(value, number)


def _lists(value: list[Any]) -> Iterator[list[Any]]:
    yield []
    if not value:
        return
    yield value[:1] if len(value) > 1 else value + value
    yield value + value[:1]
    if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        for number in (0, -1, 2**31, 2**62, -(2**63)):
            yield [number] * len(value)
            yield [*value[:-1], number]
    elif isinstance(value[0], torch.Tensor):
        for tensor in _tensors(value[0]):
            yield [tensor, *value[1:]]


@functools.cache
def samples() -> dict[str, list[Recorded]]:
    names = {name for names in FAMILIES.values() for name in names}
    with warnings.catch_warnings(action="ignore"):
        return {name: calls for name, calls in collect(names).items() if name in names}


def _argument(value: object) -> object:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        # Torch says that it is contiguous, whatever its strides are.
        value = value.clone(memory_format=torch.contiguous_format)
    return as_argument(value)


class _TooLong(Exception):
    pass


def _stop(number: int, frame: object) -> None:
    del number, frame
    raise _TooLong


def fault(call: Recorded, arguments: list[Any]) -> str | None:
    """The fault in the end of a call, None if there is none."""
    outs = [Limited(result.dtype) for result in call.results]
    grouped: list[object] = [outs] if returns_list(call.operator) else list(outs)
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        run_kernel("portable", call.operator, tuple(map(_argument, arguments)), grouped)
    except MemoryError:
        return None
    except ExecutorchError as error:
        named = not isinstance(error, Trap) or call.operator in str(error)
        return None if named and error.code != Error.Internal else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


@pytest.mark.parametrize("family", FAMILIES)
def test_extreme_arguments(family: str) -> None:
    wrong: list[str] = []
    for name in FAMILIES[family]:
        for call in samples().get(name, [])[:2]:
            if any(result.dtype not in TYPES for result in call.results):
                continue
            for at, value in enumerate(call.arguments):
                for extreme in extremes(value):
                    arguments = [*call.arguments[:at], extreme, *call.arguments[at + 1 :]]
                    found = fault(call, arguments)
                    if found is not None:
                        wrong.append(str(Refused(name, tuple(arguments), found)))
    assert not wrong, "\n".join(wrong)


def test_most_operators_have_samples() -> None:
    # Of operators that torch does not have, test_quantized_integers.py and test_cached_attention.py have samples.
    names = {name for names in FAMILIES.values() for name in names if name.startswith("aten::")}
    assert len(samples().keys() & names) > 0.9 * len(names)
