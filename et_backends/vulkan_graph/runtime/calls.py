"""Operator calls of graphs as calls of kernels.

Arguments are those of the schemas of out variants. A graph has 32-bit integers where the program had 64, and no element
types among its arguments: types come from the results. Where a kernel wants 64-bit integers, or gives another type than
the graph, conversions are inserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.format.blob import results_of
from et_backends.vulkan_graph.runtime.affine import AFFINE
from et_backends.vulkan_graph.runtime.composites import COMPOSITES
from et_backends.vulkan_graph.runtime.plan import Plan, Scalar, misfit
from et_backends.vulkan_graph.runtime.quantized import QUANTIZED
from et_ops.inference.meta import UNKNOWN, Meta
from et_ops.library import OPERATORS, Operator
from et_ops.schema import MISSING, Arg, Literal
from et_schema import program as p
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.promotion import DTYPES, SCALAR_TYPES
from et_vm.kernels.prims import PRIMS

__all__ = ["translate"]

_COMPOSITES: Final = {**COMPOSITES, **QUANTIZED, **AFFINE}
_DERIVING: Final = {*QUANTIZED, *AFFINE}
_DERIVED: Final = 32
"""Bytes for each of constants that composites restore from integers, at one time: of two 4-bit numbers, the integers
apart and with their signs, their scales, and the floats twice.
"""
_PRIMS: Final = {
    "sym_size.int": "aten::sym_size.int",
    "sym_numel.default": "aten::sym_numel",
    "_local_scalar_dense.default": "aten::_local_scalar_dense",
    **{
        name: f"executorch_prim::{name}.Scalar"
        for name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "neg", "sym_max", "sym_min")
    },
}
"""Prims by what graphs call them, without the namespace of torch's operators."""


def translate(plan: Plan, graph: v.VkGraph) -> None:
    """Add the calls of a graph to a plan.

    Raises ExecutorchError(NotSupported) for an operator without a kernel, and InvalidFile for arguments that are not
    the operator's.
    """
    for number, call in enumerate(graph.chain):
        plan.identifier = call.node_id
        try:
            _translate(plan, graph, call)
        except ExecutorchError as error:
            error.where = f"chain[{number}]" + (f".{error.where}" if error.where else "")
            raise
        except (ArithmeticError, LookupError, ValueError) as error:
            # Shapes and numbers that no check here has thought of.
            made = misfit(f"{call.name}: {error}")
            made.where = f"chain[{number}].args"
            raise made from error


def _translate(plan: Plan, graph: v.VkGraph, call: v.OperatorCall) -> None:
    results = results_of(graph, call.args)
    composite = _COMPOSITES.get(call.name)
    if composite is not None:
        arguments = list(call.args[:-1])
        with plan.bounded(_DERIVED * plan.constant_bytes(arguments) if call.name in _DERIVING else 0):
            composite(plan, graph, arguments, results)
        return
    prim = _PRIMS.get(call.name.removeprefix("aten."))
    if prim is not None and all(isinstance(graph.values[one].value, v.SymInt) for one in results):
        if len(call.args) != PRIMS[prim].arity:
            raise misfit(f"{len(call.args) - 1} arguments for {call.name}")
        plan.call(prim, *map(plan.register_of, call.args))
        return
    found = OPERATORS.get(call.name.removeprefix("aten.").removesuffix(".default"))
    if found is None or found.out is None:
        raise ExecutorchError(
            Error.NotSupported,
            f"there is no kernel for the operator {call.name!r} of a Vulkan graph",
            where="name",
            hint="compile the program without it for this runtime",
        )
    _Call(plan, graph, found).emit(call.args[:-1], results)


class _Call:
    """The translation of a call of an operator with an out variant."""

    def __init__(self, plan: Plan, graph: v.VkGraph, operator: Operator) -> None:
        self._plan = plan
        self._graph = graph
        self._operator = operator
        self._first = -1
        """The first argument."""

    def emit(self, args: Sequence[int], results: Sequence[int]) -> None:
        """Raises InvalidFile for arguments that do not fit the operator's schema."""
        schema, called = self._operator.schema, self._operator.called
        if len(args) != len(schema.args):
            raise misfit(f"{len(args)} arguments for {schema.text}")
        listed = bool(called.out_args) and called.out_args[0].type.is_list
        if not listed and len(results) != len(called.out_args):
            raise misfit(f"{len(results)} results of {schema.text}")
        tensors = [one for one in results if isinstance(self._graph.values[one].value, v.VkTensor)]
        if len(tensors) != len(results):
            raise misfit(f"a result of {schema.text} is a number")
        self._first = args[0] if args else -1
        given = dict(zip((arg.name for arg in schema.args), args, strict=True))
        declared = [self._plan.type_of(one) for one in results]
        wide, types = self._types(given, declared)
        registers = [self._argument(arg, given.get(arg.name), declared[0], wide) for arg in called.in_args]
        outs = [
            one if type in (None, has) else self._plan.tensor(type, self._plan.sizes_of(one))
            for one, type, has in zip(results, types, declared, strict=True)
        ]
        if listed:
            made = self._plan.tensors(outs)
            self._plan.call(self._operator.kernel, *registers, made, made)
        else:
            last = outs[0] if len(outs) == 1 else self._plan.tensors(outs)
            self._plan.call(self._operator.kernel, *registers, *outs, last)
        for made, result in zip(outs, results, strict=True):
            if made != result:
                self._plan.convert(made, result)

    def _types(
        self, given: dict[str, int], declared: list[ScalarType]
    ) -> tuple[bool, Sequence[ScalarType | None]]:
        """Whether 32-bit integers have to be 64 wide; types of the results, None where the rule says nothing."""
        rule = self._operator.shape_rule
        if rule is None:
            return False, [None] * len(declared)
        for wide in (False, True):
            operands = [
                self._operand(arg, given[arg.name], declared[0], wide) for arg in self._operator.schema.args
            ]
            try:
                found = rule(*operands)
            except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
                # Arguments of a graph may be of any kind.
                continue
            metas = (found,) if isinstance(found, Meta) else found
            if isinstance(metas, Sequence) and len(metas) == len(declared):
                return wide, [None if one is None else SCALAR_TYPES[one.dtype] for one in metas]
        # Kernels check shapes and types again, and say what is wrong.
        return False, [None] * len(declared)

    def _operand(self, arg: Arg, value: int, declared: ScalarType, wide: bool) -> object:
        """An argument as rules take it."""
        if arg.type.base == "ScalarType":
            return DTYPES[self._type_argument(arg, declared)]
        found = self._graph.values[value].value
        if isinstance(found, v.ValueList):
            return [self._meta(item, wide) for item in found.items]
        if isinstance(found, v.IntList | v.DoubleList | v.BoolList):
            return list(found.items)
        return self._meta(value, wide)

    def _meta(self, value: int, wide: bool) -> object:
        found = self._graph.values[value].value
        match found:
            case v.VkTensor():
                scalar_type = self._plan.type_of(self._plan.register_of(value))
                if wide and scalar_type == ScalarType.INT:
                    scalar_type = ScalarType.LONG
                return Meta(tuple(found.dims), DTYPES[scalar_type])
            case v.SymInt():
                return UNKNOWN
            case _:
                return _number(found)

    def _type_argument(self, arg: Arg, declared: ScalarType) -> ScalarType:
        """The element type that an argument names, which graphs do not say: the result's, but of an operator that
        restores quantized numbers, the operand's.
        """
        restores = self._operator.overload_name.startswith("dequantize") and arg.name == "dtype"
        return self._plan.type_of(self._plan.register_of(self._first)) if restores else declared

    def _argument(self, arg: Arg, value: int | None, declared: ScalarType, wide: bool) -> int:
        """The register of an argument."""
        plan, type = self._plan, arg.type
        if value is None:
            return plan.scalar(_default(arg.default))
        found = self._graph.values[value].value
        if type.base == "ScalarType":
            return plan.scalar(int(self._type_argument(arg, declared)))
        if isinstance(found, v.Null):
            return plan.register_of(value)
        if type.is_tensor:
            return self._tensors(found, value, wide, optional=type.element_optional)
        if type.is_list:
            return self._list(found, value, type.base)
        return self._scalar(found, value, type.base, declared)

    def _tensors(self, found: object, value: int, wide: bool, *, optional: bool) -> int:
        """A tensor, or a list of tensors."""

        def widened(register: int) -> int:
            is_narrow = (
                isinstance(self._plan[register], p.Tensor) and self._plan.type_of(register) == ScalarType.INT
            )
            return self._plan.converted(register, ScalarType.LONG) if wide and is_narrow else register

        if isinstance(found, v.ValueList):
            items = [widened(self._plan.register_of(item)) for item in found.items]
            return self._plan.tensors(items, optional=optional)
        if not isinstance(found, v.VkTensor):
            raise misfit(f"value {value} is not a tensor")
        return widened(self._plan.register_of(value))

    def _list(self, found: object, value: int, base: str) -> int:
        plan = self._plan
        if isinstance(found, v.ValueList):
            items = [self._scalar(self._graph.values[item].value, item, base) for item in found.items]
            return plan.int_registers(items)
        if isinstance(found, v.IntList):
            return plan.doubles(list(map(float, found.items))) if base == "float" else plan.ints(found.items)
        if isinstance(found, v.DoubleList | v.BoolList):
            return plan.register_of(value)
        raise misfit(f"value {value} is not a list")

    def _scalar(self, found: object, value: int, base: str, declared: ScalarType | None = None) -> int:
        """A number. The writer of graphs makes one value of numbers that are equal, whether integers or floats."""
        is_integer = base in ("int", "SymInt") or (
            base == "Scalar" and declared is not None and not declared.is_floating
        )
        if isinstance(found, v.Double) and is_integer and found.double_val.is_integer():
            return self._plan.scalar(int(found.double_val))
        if isinstance(found, v.Int) and base == "float":
            return self._plan.scalar(float(found.int_val))
        return self._plan.register_of(value)


def _number(found: object) -> Scalar:
    match found:
        case v.Int():
            return found.int_val
        case v.Double():
            return found.double_val
        case v.Bool():
            return found.bool_val
        case v.String():
            return found.string_val
        case _:
            return None


def _default(default: Literal | object) -> Scalar:
    return default if default is not MISSING and isinstance(default, bool | int | float | str) else None
