"""Blocks and registers of a plan, which is written op by op."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.analysis.bounds import SizeBounds
from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.executorch import AllocOp, RegisterOp, ValueOp
from et_ir.dialects.executorch.arguments import Scalar
from et_ir.dialects.executorch.layout import Tensor, excess_of
from et_ir.dialects.program import StringType
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, layout_of, sizes_of, tensor_type
from et_ops.sizes import Expression
from et_schema.program import TensorShapeDynamism
from et_schema.wording import worded

__all__ = ["PlanBuilder", "at_run_time", "default_bounds", "default_of"]


def default_bounds(sizes: Iterable[str]) -> str:
    """The way to bound sizes, symbols or dimensions of inputs, that export knows no bound of."""
    bounds = ", ".join(f"{size!r}: N" for size in sizes)
    return worded(
        python=f"EdgeCompileConfig(default_bounds={{{bounds}}})",
        command=" ".join(f"--default-bound {size}=N" for size in sizes),
    )


def at_run_time() -> str:
    """The way to have tensors without bounds."""
    given = worded(
        python='ExecutorchBackendConfig(unbounded="runtime", target="et-vm")',
        command="--unbounded=runtime --target et-vm",
    )
    return f"allocate at run time: {given}"


_DEFAULTS: Final[dict[Attribute, Scalar]] = {i64: 0, f64: 0.0, i1: False, StringType(): ""}


def default_of(type: Attribute) -> Scalar:
    """Initial content of a register of a type; `None` for a type that is neither number nor string."""
    return _DEFAULTS.get(type)


class PlanBuilder(ABC):
    """A plan with insertion points for its registers and instructions, and the register of each value."""

    def __init__(self, function: FuncOp, *, grows: bool = False):
        self.function = function
        self._grows = grows
        self.entry = self.block = Block()
        """Insertion points of registers and instructions."""
        self.body = Region(self.entry)
        self._declared: RegisterOp | None = None
        self.diagnostics: list[Diagnostic] = []
        self.values: dict[SSAValue, Scalar | SSAValue] = {}
        self.places: dict[SSAValue, SSAValue] = {}
        """The registers that some results go to, which exist before."""

    @cached_property
    def _bounds(self) -> SizeBounds | None:
        """Bounds of sizes that are not static; nothing is computed where all are."""
        return SizeBounds(self.function.body.block) if self.function.body.blocks else None

    @abstractmethod
    def lower(self, op: Operation) -> None:
        """Add the instructions that an operation becomes."""

    # -- blocks and registers

    def add(self, op: Operation, like: Operation) -> None:
        """Add an instruction, with the location of what it stands for."""
        op.location = like.location
        self.block.add_op(op)

    def begin(self, block: Block) -> None:
        """Go on in another block, which the jumps before lead to."""
        self.body.add_block(block)
        self.block = block

    def register(self, op: RegisterOp, like: Operation, hint: str | None) -> SSAValue:
        """Declare a register, with the location of what it is for. All stand in the first block.

        Reports a tensor that a file cannot describe.
        """
        if is_tensor(op.result.type):
            self._check(op.result.type, like, hint or "a value")
        op.location = like.location
        if self.block is self.entry:
            self.entry.add_op(op)
        elif self._declared is not None:
            self.entry.insert_op_after(op, self._declared)
        else:
            first = self.entry.first_op
            assert first is not None
            self.entry.insert_op_before(op, first)
        self._declared = op
        op.result.name_hint = hint
        return op.result

    def _check(self, type: Tensor, op: Operation, what: str) -> None:
        excess = excess_of(type)
        if excess is not None:
            message = f"[out_variant_c5] {what} has {excess[0]}; the runtime takes at most {excess[1]}"
            fix = "make it smaller: merge dimensions with flatten or reshape, or lower the bounds of sizes"
            self.diagnostics.append(diagnose(op, message, fix))

    def largest(
        self, op: Operation, what: str, value: SSAValue, fix: str
    ) -> tuple[Attribute, TensorShapeDynamism | None]:
        """The type of a tensor's register, and whether its sizes are bounds.

        Reports `what` and the `fix` where a size has no bound.
        """
        type = tensor_type(value)
        if type.has_static_shape() or self._bounds is None:
            return type, None
        sizes = [0 if size is None else size for size in self._bounds.sizes(value)]
        if self._grows and None in self._bounds.sizes(value):
            unbound = TensorShapeDynamism.DYNAMIC_UNBOUND
            return TensorType(type.element_type, sizes, layout_of(type)), unbound
        if None in self._bounds.sizes(value) and not any(self._is_unbounded(v) for v in op.operands):
            message = f"[out_variant_c3] {what} has type {type} with unbounded sizes"
            self.diagnostics.append(diagnose(op, message, fix))
        return TensorType(type.element_type, sizes, layout_of(type)), TensorShapeDynamism.DYNAMIC_BOUND

    def _is_unbounded(self, value: SSAValue) -> bool:
        """Whether a tensor has a size without a bound, which is reported where it first comes up."""
        return is_tensor(value.type) and self._bounds is not None and None in self._bounds.sizes(value)

    def _by_name(self, type: Attribute) -> str:
        """How to bound the symbols of a type that have no bound, by their names."""
        ranges = method_ranges(self.function)
        names = {
            name: None
            for size in sizes_of(type)
            if isinstance(size, Expression)
            for name in sorted(size.symbols)
            if name not in ranges or ranges[name].most is None
        }
        return f"or by {default_bounds(names)}, " if names else ""

    def result_register(self, op: Operation, result: SSAValue) -> SSAValue:
        """The register for a result."""
        place = self.places.get(result)
        if place is not None:
            self.values[result] = place
            return place
        type = result.type
        if is_tensor(type):
            fix = (
                "bound it in the program with torch._check(n <= N) for the size or number n, "
                f"{self._by_name(type)}or {at_run_time()}"
            )
            bounded, dynamism = self.largest(op, "a result", result, fix)
            register: RegisterOp = AllocOp(bounded, dynamism=dynamism)
        else:
            register = ValueOp(default_of(type))
        found = self.register(register, op, result.name_hint)
        self.values[result] = found
        return found

    def argument_register(self, value: SSAValue, op: Operation) -> SSAValue:
        """The register of a delegate's input, which has to be one."""
        found = self.values[value]
        if not isinstance(found, SSAValue):
            found = self.register(ValueOp(found), op, None)
        return found

    def tensor(self, op: Operation, value: SSAValue) -> SSAValue:
        """The register of an argument that has to be a tensor; reports a number."""
        found = self.values[value]
        if isinstance(found, SSAValue):
            return found
        self.fail(
            op,
            f"[out_variant_c4] the scalar {found!r} is given where a tensor is required",
            "make it a tensor",
        )
        return self.register(ValueOp(found), op, None)

    def fail(self, op: Operation, message: str, fix: str) -> None:
        """Report an operation, and go on with registers for its results."""
        self.diagnostics.append(diagnose(op, message, fix))
        for result in op.results:
            self.result_register(op, result)
