"""Samples of which one size is known at run time only, with the same sizes and with another one.

Dimensions of one size are taken to be the same one: all of them in the tensors of a sample are dynamic together, and
grow together. Whether torch agrees, it says by its export, and by its result for the other size.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

from sweep.samples import Sample

__all__ = ["DynamicSample", "dynamic_samples"]

LARGEST = 128
"""The bound of the size that is dynamic."""


@dataclass(frozen=True)
class DynamicSample:
    """A sample that torch exports with a dynamic size, and inputs of other sizes with torch's results."""

    sample: Sample
    size: int
    """What is dynamic: the dimensions of this size."""
    program: ExportedProgram
    others: tuple[tuple[tuple[torch.Tensor, ...], tuple[Any, ...]], ...]

    def __str__(self) -> str:
        return f"{self.sample}, where {self.size} is dynamic"


def dynamic_samples(sample: Sample) -> Iterator[DynamicSample]:
    """One for each size of a sample's tensors from 2 on that torch exports as dynamic."""
    for size in sorted({n for tensor in sample.inputs for n in tensor.shape if n > 1}):
        with warnings.catch_warnings(action="ignore"), torch.no_grad():
            program = _exported(sample, size)
            if program is None:
                continue
            others = [_run(sample, size, more) for more in (1, size)]
        yield DynamicSample(sample, size, program, tuple(other for other in others if other is not None))


def _exported(sample: Sample, size: int) -> ExportedProgram | None:
    """The program, None if torch exports it for a number only."""
    n = Dim("n", min=2, max=LARGEST)
    shapes = tuple({dim: n for dim, m in enumerate(x.shape) if m == size} or None for x in sample.inputs)
    try:
        return torch.export.export(sample.module, sample.inputs, dynamic_shapes=(shapes,), strict=False)
    except Exception:  # torch raises what it likes where it does not know a size
        return None


def _run(sample: Sample, size: int, more: int) -> tuple[tuple[torch.Tensor, ...], tuple[Any, ...]] | None:
    """Larger inputs with torch's results for them, None if it refuses them."""
    inputs = tuple(_grown(x, size, more) for x in sample.inputs)
    try:
        results = sample.module(*(x.clone() for x in inputs))
    except Exception:  # whatever an operator has against the sizes
        return None
    return inputs, tuple(
        leaf.resolve_conj().resolve_neg() if isinstance(leaf, torch.Tensor) else leaf
        for leaf in pytree.tree_leaves(results)
    )


def _grown(x: torch.Tensor, size: int, more: int) -> torch.Tensor:
    """With `more` elements along each dimension of a size: numbers between those that there are, or the first again."""
    random = torch.Generator().manual_seed(0)
    for dim in range(x.dim()):
        if x.shape[dim] != size:
            continue
        first = x.narrow(dim, 0, more)
        if x.is_floating_point():
            # In the domain of the operator if that is an interval, and no sum of other rows.
            share = 0.2 + 0.6 * torch.rand(first.shape, generator=random, dtype=x.dtype)
            first = torch.lerp(first, x.roll(1, dim).narrow(dim, 0, more), share)
        x = torch.cat([x, first], dim)
    return x
