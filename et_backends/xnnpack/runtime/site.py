"""Translation context of an XNNPACK node.

It gives the values of the node as tensors, and says where its results go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from et_backends.xnnpack.format.graph import XNodeUnion
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime.grid import Limits, clamp
from et_backends.xnnpack.runtime.weights import QuantizedWeight
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.steps import cast
from et_vm.kernels.registry import KernelRegistry, Prepare, PrepareContext
from et_vm.step import Step
from et_vm.values import Tensor

LARGE = 1 << 15
"""Elements from which on a compiled kernel computes faster than numpy what is one call of either: finding the function
takes it longer.
"""

Result: TypeAlias = Callable[[int, Sequence[int], Tensor | None, Sequence[Tensor], bool], Tensor]


class Site:
    """A node with the shapes of its operands known.

    Tensors have their sizes in the order of memory. A translation makes each result with `result`, which gives
    it its sizes, and returns the steps that fill it. What `limits` and the grid of a quantized result ask for comes
    behind these steps, unless the translation has set `limits` to None, having seen to them itself; or, for the
    grid, unless it only moves elements between values of one grid.
    """

    __slots__ = ("_kernels", "_make", "_tensors", "ctx", "has_grid", "limits", "node", "row_grid", "weights")

    def __init__(
        self,
        ctx: PrepareContext,
        node: XNodeUnion,
        limits: Limits | None,
        tensors: Mapping[int, Tensor],
        make: Result,
        row_grid: int = 0,
        *,
        has_grid: bool = False,
        kernels: KernelRegistry | None = None,
        weights: Mapping[int, QuantizedWeight] | None = None,
    ) -> None:
        self._kernels = kernels
        self.ctx = ctx
        self.node = node
        self.limits = limits
        self._tensors = tensors
        self._make = make
        self.has_grid = has_grid
        self.weights = weights or {}
        """The filters that are integers, by id; they are no operands."""
        self.row_grid = row_grid
        """The number of dimensions of a row of the output that has its own grid; 0 if none has."""

    def operand(self, value: int) -> Tensor:
        """The value of an id."""
        return self._tensors[value]

    def filter(self, value: int, calls: list[Step]) -> Tensor:
        """The filter of an id. One of integers is restored in scratch, as a whole, by `calls`."""
        weight = self.weights.get(value)
        if weight is None:
            return self.operand(value)
        made = Tensor(ScalarType.FLOAT, weight.dims, name=f"value {value}")
        made.bind(self.ctx.scratch(made.nbytes))
        rows = made.array.reshape(weight.rows, weight.columns)
        calls.append((weight.dequantize, (0, weight.rows, rows)))
        return made

    def optional(self, value: int) -> Tensor | None:
        """The value of an id, or None for one that is not there."""
        return None if value == NO_VALUE else self._tensors[value]

    def result(
        self,
        value: int,
        sizes: Sequence[int],
        like: Tensor | None = None,
        over: Sequence[Tensor] = (),
        *,
        adds_bounds: bool = False,
    ) -> Tensor:
        """The tensor for a value that the node writes, with its sizes. It has the memory of `like` where it may, or
        that of one of `over` that has as many bytes and is not read again.

        With `adds_bounds`, sizes are sums of those of operands. Where these are bounds that no call reaches together,
        and the sums exceed what the graph declares, the tensor has the declared sizes.
        """
        return self._make(value, sizes, like, over, adds_bounds)

    def take_limits(self) -> Limits | None:
        """The limits, for the translation to see to: all of them, unless the grid of a result comes first."""
        if self.has_grid:
            return None
        limits, self.limits = self.limits, None
        return limits

    def compiled(self, name: str, *arguments: object) -> list[Step] | None:
        """The call of an operator's kernel, if the method runs with compiled ones and all tensors are of float32. The
        arguments are the operator's; outputs have the shapes that it gives them.
        """
        if self._kernels is None or any(
            isinstance(argument, Tensor) and argument.scalar_type != ScalarType.FLOAT
            for argument in arguments
        ):
            return None
        prepare = self._kernels.lookup(name, ())
        return None if prepare is None else [prepare(self.ctx, *arguments)]

    def compiled_if_large(self, elements: int, name: str | None, *arguments: object) -> list[Step] | None:
        """`compiled`, or None where numpy would have too little to do: `elements` times its calls. And for no
        name.
        """
        return None if name is None or elements < LARGE else self.compiled(name, *arguments)

    def kernel(self, name: str, portable: Prepare, *arguments: object) -> list[Step]:
        """The call of an operator's kernel: a compiled one, or `portable`."""
        steps = self.compiled(name, *arguments)
        return [portable(self.ctx, *arguments)] if steps is None else steps

    @property
    def has_compiled(self) -> bool:
        """Whether the method runs with compiled kernels."""
        return self._kernels is not None

    def clamped(self, x: Tensor, limits: Limits, out: Tensor) -> list[Step]:
        """Steps that store `x` within `limits` into `out`, which may be `x`."""
        low, high = (None if math.isinf(limit) else limit for limit in limits)
        name = "aten::clamp.out" if (low, high) != (None, None) else None
        steps = self.compiled_if_large(out.numel, name, x, low, high, out)
        return clamp(x.array, limits, out.array) if steps is None else steps

    def check(self, condition: bool, arg: str, expected: object, got: object) -> None:
        """Raise Trap unless the condition holds."""
        self.ctx.check(condition, arg=arg, expected=expected, got=got)

    def converted(self, tensor: Tensor, scalar_type: ScalarType, calls: list[Step]) -> Tensor:
        """The tensor in another type: itself if it has that type, a copy that is kept of a constant, or scratch that
        `calls` fill.
        """
        if tensor.scalar_type == scalar_type:
            return tensor
        if tensor.constant:
            return self.ctx.memo(
                ("converted", tensor.version, scalar_type),
                lambda: _converted(tensor, scalar_type),
                tensor.numel * scalar_type.itemsize,
            )
        made = Tensor(scalar_type, tensor.sizes, tensor.dim_order, name=tensor.name)
        made.bind(self.ctx.scratch(made.nbytes))
        calls += cast(self.ctx, tensor.array, made.array)
        return made


def _converted(tensor: Tensor, scalar_type: ScalarType) -> Tensor:
    made = Tensor(scalar_type, tensor.sizes, tensor.dim_order, constant=True, name=tensor.name)
    made.bind(np.empty(made.nbytes, np.uint8))
    np.copyto(made.array, tensor.array, "unsafe")
    return made


def viewed(tensor: Tensor, sizes: Sequence[int], dim_order: Sequence[int] | None = None) -> Tensor:
    """The memory of a tensor as that of another one, of other sizes."""
    made = Tensor(
        tensor.scalar_type,
        sizes,
        dim_order,
        storage=tensor.storage,
        constant=tensor.constant,
        name=tensor.name,
    )
    # Kernels know by its version what they have packed of a constant.
    if tensor.constant:
        made.version = tensor.version
    return made


def image(tensor: Tensor) -> Tensor:
    """A tensor (N, H, W, C) as kernels for images take it: (N, C, H, W) with the channels last in memory."""
    samples, height, width, channels = tensor.sizes
    return viewed(tensor, (samples, channels, height, width), (0, 2, 3, 1))
