"""Functional operators of kernel calls: the inverse of the out-variant conversion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.executorch import KernelCallOp
from et_ir.dialects.executorch.arguments import Argument, ListValue
from et_ir.dialects.executorch.layout import element_type
from et_ir.dialects.program import ComputeOp, LiteralOp
from et_ir.dialects.program.arithmetic import FUNCTIONS, primitive
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ops import OPERATORS, Arg, Schema
from et_ops.conventions import is_in_place
from et_ops.library import operator_of_kernel
from et_ops.schema import ArgType
from et_schema.scalar_type import ScalarType
from et_schema.wording import worded

__all__ = [
    "PRIMITIVES",
    "TRUNCATED",
    "CannotRaise",
    "build",
    "functional_arguments",
    "functional_op",
    "is_never_negative",
    "verify",
]

PRIMITIVES: Final[dict[str, str]] = {primitive(name): name for name in FUNCTIONS}
"""The function of numbers that each primitive operator computes."""
TRUNCATED: Final[dict[str, bool]] = {
    "executorch_prim::floordiv.int": True,
    "executorch_prim::mod.int": False,
    "executorch_prim::mod.Scalar": False,
}
"""Primitive operators that divide integers towards zero: whether they give the quotient, or the remainder."""

_MONOTONIC: Final = frozenset({"add", "mul", "floordiv", "max", "min"})
"""Functions that give no negative integers for those that are not negative."""

Custom = Mapping[str, type[EdgeOp]]
"""Classes of the operators that a module declares, by the kernels that compute them."""


class CannotRaise(Exception):
    """An instruction has no counterpart at the edge level. `fix` says what to do."""

    def __init__(self, message: str, fix: str = ""):
        super().__init__(message)
        self.fix = fix


def build(made: type[EdgeOp], *args: Any, **kwargs: Any) -> EdgeOp:
    """An edge op of a class, as `EdgeOp.make` builds it. Raises `CannotRaise` where its rule refuses the arguments."""
    try:
        return made.make(*args, **kwargs)
    except TypeError as error:
        raise CannotRaise(f"[raise_c2] {error}") from error


def verify(op: EdgeOp) -> None:
    """Raise `CannotRaise` for an op that breaks rules of its operator: calls of files may have any arguments."""
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise CannotRaise(f"[raise_c2] {error}") from error


def is_never_negative(number: SSAValue) -> bool:
    """Whether an integer is known not to be negative: it is a size, or computed from sizes."""
    owner = number.owner
    if isinstance(owner, LiteralOp):
        known = literal_of(owner.value)
        return isinstance(known, int) and known >= 0
    if isinstance(owner, ComputeOp):
        return owner.function.data in _MONOTONIC and all(map(is_never_negative, owner.inputs))
    return isinstance(owner, SchemaOp) and owner.operator.view_form in ("sym_size.int", "sym_numel")


def functional_op(kernel: str, custom: Custom) -> type[EdgeOp]:
    """The class of the edge op that a kernel computes, out of place. Raises `CannotRaise` for an unknown kernel."""
    found = custom.get(kernel)
    if found is not None:
        return found
    operator = operator_of_kernel(kernel)
    if operator is None and is_in_place(kernel):
        namespace, _, name = kernel.partition("::")
        packet, dot, overload = name.partition(".")
        functional = f"{packet.removesuffix('_')}{dot}{overload}"
        name = functional if namespace == "aten" else f"{namespace}.{functional}"
        operator = OPERATORS.get(name)
    if operator is None or operator.name not in OP_BY_NAME:
        raise CannotRaise(
            f"[raise_c1] no operator is known that the kernel '{kernel}' computes",
            worded(
                python="import the module that declares the operator",
                command="load the module that declares the operator with --load",
            ),
        )
    return OP_BY_NAME[operator.name]


def functional_arguments(
    op: KernelCallOp, made: type[EdgeOp], read: Callable[[SSAValue], Any], results: Sequence[Attribute]
) -> dict[str, Any]:
    """The arguments of a call by name, as the functional schema has them, where it has them.

    `read` gives the value of a register. What only the functional schema has is the element type of its result.
    Raises `CannotRaise` for a call that does not fit the schema.
    """
    functional = made.operator.schema
    called = functional if is_in_place(op.key) else made.operator.called
    given, wanted = op.arguments, called.in_args
    if len(given) != len(wanted):
        raise CannotRaise(
            f"[raise_c2] the kernel '{op.key}' is called with {len(given)} arguments, not the {len(wanted)} of "
            f"'{called.text}'"
        )
    by_name = functional.by_name
    found: dict[str, Any] = {}
    for arg, value in zip(wanted, given, strict=True):
        if arg.name in by_name:
            taken = by_name[arg.name]
            found[arg.name] = _value(taken, value, read)
            if not _fits(taken.type, found[arg.name]):
                raise CannotRaise(
                    f"[raise_c2] the argument '{arg.name}' of the kernel '{op.key}' is not of the type {taken.type}"
                )
    found.update(_dtype(functional, called, results))
    return found


def _fits(type: ArgType, value: Any) -> bool:
    """Whether an argument is of a schema's type."""
    if value is None:
        return type.optional or type.base in _WITHOUT_VALUE
    if not type.is_list:
        return _fits_base(type, value)
    # A number stands for a list of a fixed size of it.
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return all(type.element_optional if item is None else _fits_base(type, item) for item in items)


def _fits_base(type: ArgType, value: Any) -> bool:
    if isinstance(value, SSAValue):
        is_tensor = isinstance(cast("SSAValue[Attribute]", value).type, TensorType)
        return is_tensor if type.is_tensor else not is_tensor and type.may_be_symbolic
    kinds = _KINDS.get(type.base)
    return kinds is None or isinstance(value, kinds)


_WITHOUT_VALUE: Final = ("MemoryFormat", "Layout", "Device", "Generator", "Dimname")
"""Types of arguments that calls of kernels do not have."""
_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "Tensor": (),
    "Scalar": (int, float),
    "int": int,
    "SymInt": int,
    "float": float,
    "SymFloat": (int, float),
    "bool": int,
    "SymBool": int,
    "str": str,
    "ScalarType": Attribute,
}


def _dtype(functional: Schema, called: Schema, results: Sequence[Attribute]) -> dict[str, Attribute]:
    dtype = functional.by_name.get("dtype")
    first = results[0] if results else None
    if dtype is None or "dtype" in called.by_name or not isinstance(first, TensorType):
        return {}
    return {"dtype": cast("TensorType[Attribute]", first).element_type}


def _value(arg: Arg, value: Argument, read: Callable[[SSAValue], Any]) -> Any:
    if isinstance(value, ListValue):
        return [_item(arg, item, read) for item in value.items]
    return _item(arg, value, read)


def _item(arg: Arg, value: Any, read: Callable[[SSAValue], Any]) -> Any:
    if isinstance(value, SSAValue):
        return read(cast("SSAValue[Attribute]", value))
    match arg.type.base:
        case "ScalarType" if isinstance(value, int):
            return element_type(ScalarType(value))
        case "MemoryFormat":
            return None  # the layout is part of the result's type
        case "Layout" if isinstance(value, int):
            return "strided"
        case "bool" if isinstance(value, int):
            return bool(value)
        case "float" if isinstance(value, int):
            return float(value)
        case _:
            return value
