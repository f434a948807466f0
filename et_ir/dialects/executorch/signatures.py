"""Verification of calls against the schemas of their operators. Calls of unknown operators pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.executorch.arguments import Argument, ListValue
from et_ir.dialects.executorch.attributes import ListKind
from et_ir.dialects.executorch.instructions import KernelCallOp
from et_ir.dialects.program import DeclareOperatorOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ops import Arg, ArgType, Schema, operator_of_kernel, parse_schema
from et_ops.schema import namespace_of

__all__ = ["call_problems", "declared_schemas", "schema_of"]


def schema_of(operator: str) -> Schema | None:
    """The schema of an operator as files name it, `None` for one that is not known."""
    found = operator_of_kernel(operator)
    return found.called if found is not None and found.is_edge else None


def declared_schemas(module: ModuleOp) -> dict[str, Schema]:
    """The schemas of out variants that a module declares, by the name that files give them."""
    found: dict[str, Schema] = {}
    for op in module.body.block.ops:
        if isinstance(op, DeclareOperatorOp) and op.out_schema:
            schema = parse_schema(op.out_schema)
            found[f"{namespace_of(op.out_schema)}::{schema.qualified_name}"] = schema
    return found


def call_problems(op: KernelCallOp, declared: Mapping[str, Schema]) -> Iterator[str]:
    """Mismatches between a call and its operator's schema; nothing if the schema is neither known nor declared."""
    schema = schema_of(op.key) or declared.get(op.key)
    if schema is None:
        return
    written = schema.out_args
    expected = schema.in_args
    arguments = op.arguments
    if len(arguments) != len(expected):
        yield f"{len(arguments)} arguments, but '{schema.text}' has {len(expected)}"
        return
    for arg, argument in zip(expected, arguments, strict=True):
        if not _fits(argument, arg.type):
            yield f"argument '{arg.name}' is {_describe(argument)}, expected {arg.type}"
    yield from _out_problems(op, written, schema)


def _out_problems(op: KernelCallOp, written: tuple[Arg, ...], schema: Schema) -> Iterator[str]:
    listed = len(written) == 1 and written[0].type.is_list
    if listed != (op.list_out is not None):
        yield f"'outs' is {'no ' if listed else 'a '}list, but '{schema.text}' has {'one' if listed else 'none'}"
    elif not listed and len(op.outs) != len(written):
        yield f"{len(op.outs)} outs, but '{schema.text}' has {len(written)}"
    elif not written and len(op.returned) != len(schema.returns):
        yield f"{len(op.returned)} returns, but '{schema.text}' has {len(schema.returns)}"


def _fits(argument: Argument, type: ArgType) -> bool:
    if argument is None:
        return type.optional or type.base in ("Generator", "Device")
    if type.is_list:
        if not isinstance(argument, ListValue):
            return False
        return argument.kind in _list_kinds(type)
    if isinstance(argument, ListValue):
        return False
    if isinstance(argument, SSAValue):
        return is_tensor(argument.type) if type.is_tensor else argument.type in _scalars(type.base)
    match type.base:
        case "Tensor":
            return False
        case "bool" | "SymBool":
            return isinstance(argument, bool)
        case "float" | "SymFloat":
            return isinstance(argument, float)
        case "str":
            return isinstance(argument, str)
        case "Scalar":
            return isinstance(argument, int | float)
        case "int" | "SymInt" | "ScalarType" | "Layout" | "MemoryFormat":
            return isinstance(argument, int) and not isinstance(argument, bool)
        case _:
            return True


def _list_kinds(type: ArgType) -> tuple[ListKind, ...]:
    match type.base:
        case "Tensor":
            return (ListKind.OPTIONAL_TENSORS if type.element_optional else ListKind.TENSORS,)
        case "float":
            return (ListKind.FLOATS,)
        case "bool":
            return (ListKind.BOOLS,)
        case "Scalar":
            return (ListKind.INTS, ListKind.FLOATS, ListKind.BOOLS)
        case _:
            return (ListKind.INTS,)


def _scalars(base: str) -> tuple[Attribute, ...]:
    match base:
        case "Scalar":
            return (i64, f64, i1)
        case "float" | "SymFloat":
            return (f64,)
        case "bool" | "SymBool":
            return (i1,)
        case _:
            return (i64,)


def _describe(argument: Argument) -> str:
    if isinstance(argument, ListValue):
        return f"a list of {argument.kind}"
    return f"of type {argument.type}" if isinstance(argument, SSAValue) else repr(argument)
