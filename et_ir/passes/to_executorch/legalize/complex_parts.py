"""Complex tensors as pairs of real ones: how rules for them are written.

A rule is a function from an op to the parts of its results. It builds real ops with `Parts`, which knows the parts of
what rules gave before: between two ops that have rules no complex tensor is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import ComplexType, TensorType, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ops.dtypes import real_of

__all__ = ["RULES", "Pair", "Parts", "Results", "Rule", "fits", "is_complex", "on_parts"]


class Pair(NamedTuple):
    """The real and the imaginary part of a complex tensor."""

    real: SSAValue
    imag: SSAValue


Results = Pair | SSAValue | Sequence[Pair] | None
Rule = Callable[["Parts", Any], Results]

RULES: Final[dict[type[EdgeOp], Rule]] = {}
"""Rules by op class."""

_R = TypeVar("_R", bound=Rule)


def on_parts(*classes: type[EdgeOp]) -> Callable[[_R], _R]:
    """Register a function as the rule of op classes."""

    def register(function: _R) -> _R:
        for cls in classes:
            if cls in RULES:
                raise AssertionError(f"{cls.name} has two rules")
            RULES[cls] = function
        return function

    return register


def is_complex(value: SSAValue) -> bool:
    """Whether a value is a tensor of complex numbers."""
    return is_tensor(value.type) and dtype_of(value.type.element_type).is_complex


def fits(op: EdgeOp) -> bool:
    """Whether rules take the tensors of an op: sizes are known, and none has a layout of its own but a real one that
    is converted.
    """
    conversion = isinstance(op, edge.DimOrderOpsUnderscoreToDimOrderCopyOp)
    if isinstance(op, edge.DimOrderOpsUnderscoreCloneDimOrderOp) or (
        conversion and not is_complex(op.operands[0])
    ):
        return True
    for value in (*op.operands, *op.results):
        if is_tensor(value.type):
            type = tensor_type(value)
            plain = dim_order_of(type) == contiguous(type.get_num_dims())
            if not is_static(type) or not (plain or (conversion and not is_complex(value))):
                return False
    return True


class Parts:
    """Builds what takes the place of complex ops. `rewriter` is that of the op at hand."""

    def __init__(self) -> None:
        self.rewriter: PatternRewriter
        self._known: dict[SSAValue, Pair] = {}

    def __call__(self, cls: type[EdgeOp], /, *args: Any, **kwargs: Any) -> SSAValue:
        """The result of a new op. Arguments are those of `SchemaOp.make`."""
        return self.rewriter.insert(cls.make(*args, **kwargs)).results[0]

    # -- complex tensors and their parts

    def knows(self, value: SSAValue) -> bool:
        """Whether the parts of a tensor are there already."""
        return value in self._known

    def of(self, value: SSAValue) -> Pair:
        """The parts of a complex tensor; of a real one itself and zeros."""
        found = self._known.get(value)
        if found is None:
            if is_complex(value):
                both = self(edge.ViewAsRealCopyOp, value)
                found = Pair(self.select(both, -1, 0), self.select(both, -1, 1))
            else:
                found = Pair(value, self.full_like(value, 0))
            self._known[value] = found
        return found

    def note(self, value: SSAValue, parts: Pair) -> None:
        """Say what the parts of a complex tensor are."""
        self._known[value] = parts

    def joined(self, parts: Pair) -> SSAValue:
        """The complex tensor of two parts, whatever these hold: infinities, NaN, signed zeros.

        The stock runtime has no kernel that makes one but the Fourier transform. Of (a, 0, 0, b) it is in the second
        place a - 0 + i (b - 0): kernels compute transforms of length four without a product.
        """
        shape = tensor_type(parts.real).get_shape()
        if not prod(shape):
            kinds: dict[Attribute, Attribute] = {f32: ComplexType(f32), f64: ComplexType(f64)}
            return self.full(shape, 0, kinds[tensor_type(parts.real).element_type])
        column = (*shape, 1)
        zeros = self.full((*shape, 2), 0, tensor_type(parts.real).element_type)
        columns = [self.view(parts.real, column), zeros, self.view(parts.imag, column)]
        line = self(edge.CatOp, columns, len(shape))
        spectrum = self(edge.UnderscoreFftR2cOp, line, [len(shape)], 0, True)
        value = self.select(spectrum, len(shape), 1)
        self.note(value, parts)
        return value

    # -- real tensors

    def full(self, shape: Sequence[int], value: float, element: Attribute) -> SSAValue:
        """A tensor of equal elements."""
        type = TensorType[Attribute](element, shape)
        return self(edge.FullOp, tuple(shape), value, dtype=element, result_types=[type])

    def full_like(self, value: SSAValue, number: float) -> SSAValue:
        """A tensor of equal elements of the type of another."""
        type = tensor_type(value)
        return self.full(type.get_shape(), number, type.element_type)

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements in another shape."""
        return self(edge.ViewCopyOp, value, tuple(shape))

    def select(self, value: SSAValue, dim: int, index: int) -> SSAValue:
        """The slice at one index of a dimension."""
        return self(edge.SelectCopyIntOp, value, dim, index)

    def to(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in another element type; itself if it has that type."""
        type = tensor_type(value)
        if type.element_type == element:
            return value
        result = TensorType[Attribute](element, type.get_shape())
        return self(edge.DimOrderOpsUnderscoreToDimOrderCopyOp, value, dtype=element, result_types=[result])

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(edge.AddTensorOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(edge.SubTensorOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        """A product with a tensor or a number."""
        return self(edge.MulTensorOp if isinstance(b, SSAValue) else edge.MulScalarOp, a, b)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(edge.DivTensorOp, a, b)

    def neg(self, a: SSAValue) -> SSAValue:
        return self(edge.NegOp, a)

    def where(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(edge.WhereSelfOp, condition, a, b)

    def each(self, op: EdgeOp, imaginary: dict[str, Any] | None = None) -> Sequence[Pair]:
        """An op that treats both parts alike, on each; for the imaginary one with other literals."""
        pairs: list[Sequence[SSAValue]] = []
        types = [
            TensorType[Attribute](
                attr_of(real_of(dtype_of(tensor_type(r).element_type))), tensor_type(r).get_shape()
            )
            for r in op.results
        ]
        for place, literals in enumerate(({}, imaginary or {})):

            def part(value: Any, place: int = place) -> Any:
                if isinstance(value, tuple | list):
                    return [part(item) for item in cast("Sequence[Any]", value)]
                if not isinstance(value, SSAValue):
                    return value
                tensor = cast("SSAValue[Attribute]", value)
                return self.of(tensor)[place] if is_complex(tensor) else tensor

            arguments = {arg.name: part(op.arg(arg.name)) for arg in op.schema().args}
            dtype = arguments.get("dtype")
            if isinstance(dtype, Attribute):
                arguments["dtype"] = attr_of(real_of(dtype_of(dtype)))
            made = type(op).make(**arguments | literals, result_types=types)
            pairs.append(self.rewriter.insert(made).results)
        return [Pair(real, imag) for real, imag in zip(*pairs, strict=True)]
