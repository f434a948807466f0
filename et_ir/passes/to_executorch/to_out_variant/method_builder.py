"""Builder of a method's plan from its ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from et_ir.diagnostics import diagnose
from et_ir.dialects.backend import CallOp, PartitionOp
from et_ir.dialects.control import ControlOp
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.executorch import (
    Argument,
    ConstantOp,
    DelegateCallOp,
    InputOp,
    KernelCallOp,
    ListKind,
    ListValue,
    PlanOp,
    ReturnOp,
    StateOp,
)
from et_ir.dialects.executorch.arguments import Scalar, literal_value
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.program import (
    ComputeOp,
    GetOp,
    GuardsAttr,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    RangeOp,
    StoreOp,
    TreeAttr,
)
from et_ir.dialects.program.arithmetic import primitive
from et_ir.dialects.program.guards import GUARDS
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC
from et_ir.dialects.schema.custom import is_custom
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.passes.to_executorch.to_out_variant.control_flow import lower_control
from et_ir.passes.to_executorch.to_out_variant.plan_builder import (
    PlanBuilder,
    at_run_time,
    default_bounds,
    default_of,
)
from et_ops import Arg, Schema
from et_ops.variants import out_variant_definition
from et_schema.wording import worded

__all__ = ["MethodBuilder"]

_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
"""Torch's memory formats in the order of their numbers."""


class MethodBuilder(PlanBuilder):
    """One function as it becomes a plan."""

    def __init__(self, function: FuncOp, *, grows: bool = False):
        super().__init__(function, grows=grows)
        self._constants: dict[str, SSAValue] = {}
        self._states: dict[str, SSAValue] = {}
        self._stored: dict[str, SSAValue] = {}

    def run(self) -> PlanOp:
        function = self.function
        attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
        arguments = function.body.block.args if function.body.blocks else ()
        for index, argument in enumerate(arguments):
            self._input(index, argument, attributes[index].data if index < len(attributes) else EMPTY)
        for op in function.body.block.ops if function.body.blocks else ():
            self.lower(op)
        guards = function.attributes.get(GUARDS)
        plan = PlanOp(
            function.sym_name.data,
            self.body,
            in_spec=_text(function.attributes.get(IN_SPEC)),
            out_spec=_text(function.attributes.get(OUT_SPEC)),
            guards=guards.data if isinstance(guards, GuardsAttr) else None,
        )
        plan.location = function.location
        return plan

    def _input(self, index: int, argument: SSAValue, attributes: Mapping[str, Attribute]) -> None:
        name = _text(attributes.get("program.name"))
        hint = argument.name_hint or name
        type = argument.type
        value: Scalar = None
        dynamism = None
        if is_tensor(type):
            fix = f'export with an upper bound: dynamic_shapes with Dim("n", max=N) for {hint or "the input"}'
            dims = [f"{name}.{dim}" for dim, size in enumerate(type.get_shape()) if name and size < 0]
            if dims:
                fix += f", or {default_bounds(dims)}"
            fix += f", or {at_run_time()}"
            type, dynamism = self.largest(
                self.function, f"input {index} ({hint or 'unnamed'})", argument, fix
            )
        elif "program.value" in attributes:
            value = literal_value(attributes["program.value"])
        else:
            value = default_of(type)
        self.values[argument] = self.register(
            InputOp(type, value, name=name, dynamism=dynamism), self.function, hint
        )

    # -- operations

    def lower(self, op: Operation) -> None:
        match op:
            case EdgeOp():
                self._edge_op(op)
            case GetOp():
                self.values[op.result] = self._symbol(op, self._constants, ConstantOp)
            case LoadOp():
                stored = self._stored.get(op.symbol.string_value())
                self.values[op.result] = self._symbol(op, self._states, StateOp) if stored is None else stored
            case StoreOp():
                # A load behind a store is the stored value: the state's register means what it held before.
                name, value = op.symbol.string_value(), self.tensor(op, op.value)
                self._stored[name] = value
                self.add(StoreOp(name, value), op)
            case OverwriteOp():
                self.add(OverwriteOp(self.tensor(op, op.target), self.tensor(op, op.value)), op)
            case LiteralOp():
                self.values[op.result] = literal_value(op.value)
            case RangeOp():
                pass
            case ComputeOp():
                inputs = [self.values[value] for value in op.inputs]
                returns = [self.result_register(op, op.result)]
                self.add(KernelCallOp(primitive(op.function.data), inputs, returns=returns), op)
            case CallOp():
                inputs = [self.argument_register(value, op) for value in op.inputs]
                outs = [self.result_register(op, result) for result in op.outputs]
                self.add(DelegateCallOp(op.callee.string_value(), inputs, outs), op)
            case ControlOp():
                lower_control(self, op)
            case FuncReturnOp():
                self.add(ReturnOp([self.values[value] for value in op.operands]), op)
            case PartitionOp():
                self.fail(
                    op,
                    f"[out_variant_c2] the backend '{op.backend.data}' did not lower this partition",
                    "run the pass that lowers partitions first",
                )
            case _:
                self.fail(
                    op,
                    "[out_variant_c2] is not an edge operation",
                    "lower the program to edge first",
                )

    def _symbol(
        self, op: GetOp | LoadOp, known: dict[str, SSAValue], kind: type[ConstantOp | StateOp]
    ) -> SSAValue:
        name = op.symbol.string_value()
        found = known.get(name)
        if found is None:
            found = known[name] = self.register(kind(name, op.result.type), op, op.result.name_hint)
        return found

    def _edge_op(self, op: EdgeOp) -> None:
        if op.results and all(_is_only_stated(result) for result in op.results):
            return
        operator, schema = op.operator, op.operator.out
        if schema is None:
            if any(isinstance(result.type, TensorType) for result in op.results):
                self.fail(op, *_missing_out_variant(op))
                return
            arguments = self._arguments(op, operator.schema)
            if operator.name == "sym_size.int":
                # The primitive operator of the stock runtime counts from the front only.
                arguments[1] = op.arg("dim") % max(tensor_type(op.operands[0]).get_num_dims(), 1)
            returns = [self.result_register(op, result) for result in op.results]
            self.add(KernelCallOp(operator.kernel, arguments, returns=returns), op)
            return
        arguments = self._arguments(op, schema)
        outs = [self.result_register(op, result) for result in op.results]
        self.add(
            KernelCallOp(
                operator.kernel,
                arguments,
                outs=outs,
                list_out=any(arg.type.is_list for arg in schema.out_args),
            ),
            op,
        )

    def _arguments(self, op: EdgeOp, schema: Schema) -> list[Argument]:
        return [self._argument(op, arg, op.arg(arg.name)) for arg in schema.in_args]

    def _argument(self, op: EdgeOp, arg: Arg, value: object) -> Argument:
        if arg.type.is_list and value is not None:
            items = tuple(self._item(op, arg, item) for item in cast("Sequence[object]", value))
            return ListValue(_list_kind(arg, items), items)
        return self._item(op, arg, value)

    def _item(self, op: EdgeOp, arg: Arg, value: object) -> Scalar | SSAValue:
        if isinstance(value, SSAValue):
            operand = cast(SSAValue, value)
            return self.tensor(op, operand) if arg.type.is_tensor else self.values[operand]
        match arg.type.base:
            case "ScalarType" if isinstance(value, Attribute):
                try:
                    return int(scalar_type(value))
                except VerifyException as error:
                    self.diagnostics.append(
                        diagnose(op, f"[out_variant_c4] {error}", "use a dtype of the file format")
                    )
                    return None
            case "MemoryFormat" if isinstance(value, str):
                return _MEMORY_FORMATS.index(value)
            case "Layout":
                # Files number layouts; the only one that tensors have there is torch.strided.
                return None if value is None else 0
            case "Device" | "Generator":
                return None
            case "float" if isinstance(value, int):
                return float(value)
            case _:
                return cast(Scalar, value)


EMPTY: Final[Mapping[str, Attribute]] = {}


def _is_only_stated(result: SSAValue) -> bool:
    """Whether a number is there to say what it can be, and for nothing else."""
    return (
        not is_tensor(result.type)
        and result.first_use is not None
        and all(isinstance(use.operation, RangeOp) for use in result.uses)
    )


def _text(attr: Attribute | None) -> str | None:
    return attr.data if isinstance(attr, StringAttr | TreeAttr) else None


def _list_kind(arg: Arg, items: Sequence[Scalar | SSAValue]) -> ListKind:
    if arg.type.is_tensor:
        return ListKind.OPTIONAL_TENSORS if arg.type.element_optional else ListKind.TENSORS
    if arg.type.base == "bool":
        return ListKind.BOOLS
    if arg.type.base == "float" or any(isinstance(item, float) for item in items):
        return ListKind.FLOATS
    return ListKind.INTS


def _missing_out_variant(op: EdgeOp) -> tuple[str, str]:
    """Fault of the op, and its fix."""
    if is_custom(type(op)):
        namespace = op.operator.namespace
        definition = out_variant_definition(f"{namespace}::{op.operator.schema_text}")
        name = definition.split('"')[1]
        declared = worded(
            python=f"declare it with ExecutorchBackendConfig(extra_operators=[{name!r}])",
            command=f"declare it with --extra-operators {name}, or load it with --target et-vm --load FILE",
        )
        return (
            f"[out_variant_c1] '{namespace}::{op.schema().qualified_name}' has no out variant, which runtimes need, "
            "and does not decompose into ATen operators",
            f"define one, export again, write its kernel, and {declared}: {definition}",
        )
    name = op.schema().qualified_name
    return (
        f"[out_variant_c1] torch has no out variant of '{name}'",
        "decompose the operator, or register an out variant of it",
    )
