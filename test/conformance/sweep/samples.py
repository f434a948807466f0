"""The samples: calls of operators from torch's OpInfo database, as modules with tensors for inputs."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from dev.calls import op_samples

DTYPES = {
    "f32": torch.float32,
    "i64": torch.int64,
    "bool": torch.bool,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
"""Element types by short name, in the order in which they are swept."""


def entry_name(info: Any) -> str:
    """`nn.functional.pad-constant`: the name of an entry of the database, with its variant."""
    return f"{info.name}-{info.variant_test_name}" if info.variant_test_name else info.name


@functools.cache
def entries() -> dict[str, Any]:
    """The entries of the database by name."""
    return {entry_name(info): info for info in op_db}


class Caller(torch.nn.Module):
    """A module that calls `function` on its inputs, put where the arguments had tensors."""

    def __init__(self, function: Callable[..., Any], leaves: list[Any], spec: pytree.TreeSpec) -> None:
        super().__init__()
        self.function = function
        self.leaves = tuple(None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves)
        self.places = tuple(at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor))
        self.spec = spec

    def arguments(self, inputs: tuple[torch.Tensor, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of `function`, by position and by name."""
        leaves = list(self.leaves)
        for place, value in zip(self.places, inputs, strict=True):
            leaves[place] = value
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return args, kwargs

    def forward(self, *inputs: torch.Tensor) -> Any:
        args, kwargs = self.arguments(inputs)
        return self.function(*args, **kwargs)


@dataclass(frozen=True)
class Sample:
    """One call: `module(*inputs)` gives `results`, flat. Of `random` ones the elements are random or
    unspecified, and only types and shapes count.
    """

    entry: str
    dtype: str
    index: int
    module: Caller
    inputs: tuple[torch.Tensor, ...]
    results: tuple[Any, ...]
    random: bool

    def __str__(self) -> str:
        tensors = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in self.inputs)
        others = ", ".join(repr(leaf) for leaf in self.module.leaves if leaf is not None)
        return f"{self.entry} #{self.index}: {tensors}{'; ' if others else ''}{others}"


def _plain(value: Any) -> bool:
    """Whether a leaf is something that a program of dense tensors can have."""
    if isinstance(value, torch.Tensor):
        return type(value) is torch.Tensor and value.layout == torch.strided and not value.is_quantized
    return True


def _dense(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return value


def _flat(result: Any) -> tuple[Any, ...]:
    return tuple(_dense(leaf) for leaf in pytree.tree_leaves(result))


UNSPECIFIED = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)
"""Entries that say nothing of the elements of their results."""


class _Randomness(TorchDispatchMode):
    """Notes whether an operator draws random numbers."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def samples(entry: str, dtype: str, limit: int | None = None, seed: int = 0) -> Iterator[Sample]:
    """The samples of an entry for a type that torch itself can compute; with `limit` a seeded choice of
    so many, which a larger one contains.
    """
    info = entries()[entry]
    if DTYPES[dtype] not in info.supported_dtypes("cpu"):
        return
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        torch.manual_seed(seed)
        given = op_samples(info, DTYPES[dtype])
    order = list(range(len(given)))
    random.Random(f"{seed} {entry} {dtype}").shuffle(order)
    for index in sorted(order[:limit]):
        # Not around `yield`: who stops here would have gradients and warnings as they are within until this generator
        # is collected, and then as they were before, whatever they are meanwhile.
        with warnings.catch_warnings(action="ignore"), torch.no_grad():
            found = _sample(entry, dtype, index, info, given[index])
        if found is not None:
            yield found


def _sample(entry: str, dtype: str, index: int, info: Any, sample: Any) -> Sample | None:
    """A sample and its results; None for one that torch refuses, or that has arguments or results of other kinds."""
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    if not all(map(_plain, leaves)):
        return None
    module = Caller(info.op, leaves, spec).eval()
    inputs = tuple(_dense(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor))
    try:
        with _Randomness() as randomness:
            module(*map(_dense, inputs))
        # Beside the mode, in which torch forgets that operands of products are conjugate.
        results = _flat(module(*map(_dense, inputs)))
    except Exception:
        # Torch refuses it: a sample that is about strides or layouts that inputs do not have.
        return None
    if not all(map(_plain, results)):
        return None
    unspecified = randomness.seen or info.name in UNSPECIFIED
    return Sample(entry, dtype, index, module, inputs, results, unspecified)
