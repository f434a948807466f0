"""One application of an operator to constants: what kernels are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation.arrays import Array, numpy_dtype

__all__ = ["ConstantCall", "Kernel"]


@dataclass(frozen=True)
class ConstantCall:
    """`op` is the class of the operator.

    `args` holds its schema arguments by name: arrays for tensors, Python values for literals, and for numbers
    in tensor slots; `None` where absent. `types` are the result types, `computed` is the element type that
    mixed operands are converted to, `None` for operators that do not mix.
    """

    op: type[SchemaOp]
    args: Mapping[str, Any]
    types: Sequence[TensorType[Attribute]]
    computed: Attribute | None = None

    def __getitem__(self, name: str) -> Any:
        return self.args[name]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.types[0].get_shape()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the first result."""
        return numpy_dtype(self.types[0].element_type)


Kernel: TypeAlias = Callable[[ConstantCall], Array | Sequence[Array]]
"""Gives the results, of the shapes and dtypes that the call says."""
