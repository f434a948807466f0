"""Operators of torch that programs may reach, and their look-up.

A program is a file of somebody else: what it names must not decide what runs. Torch computes an operator of the
library, unless torch's kernels trust its operands (`unchecked.txt`) or it computes nothing from tensors; and an
operator that code of the user has registered in this process, if its name and schema are those that the program
declares. Nothing else of torch's registry is reached, which has operators that read files, load libraries and view
memory by addresses, and no text becomes an attribute of `torch.ops` before it is known to name such an operator.

This package does not import torch: the functions take it as an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from et_ops.conventions import is_in_place
from et_ops.data_files import text_of
from et_ops.dtypes import BY_NAME, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch
from et_ops.library import OPERATORS, Operator, operator_of_kernel
from et_ops.schema import Arg, Schema, parse_schema

__all__ = [
    "TORCH_NAMESPACES",
    "UNCHECKED",
    "check_operands",
    "check_quotients",
    "library_overload",
    "may_compute",
    "overload_called",
    "overload_of",
    "record_of",
    "user_overload",
    "user_overloads",
]

TORCH_NAMESPACES: Final = frozenset({
    "_", "_TorchScriptTesting", "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "_inductor_debug",
    "_inductor_test", "_native", "_quantized", "_test", "_torch_testing", "ao", "aten", "bucketing", "c10d",
    "c10d_functional", "cplib", "debug_mode_ops", "debugprims", "device_mesh", "export", "fbgemm", "flex_lib",
    "fsdp", "higher_order", "inductor", "inductor_prims", "mkl", "mkldnn", "mkldnn_prepacked", "onednn", "onnx",
    "onnx_symbolic", "prepacked", "prim", "prims", "profiler", "pt2e_quant", "quantization", "quantized",
    "quantized_decomposed", "rngprims", "semi_structured", "sparse", "static_runtime", "streams", "symm_mem",
    "torch_attn", "triton", "xnnpack",
})  # fmt: skip
"""Namespaces of torch's own operators: none of them is a user's."""


def _unchecked() -> dict[str, str]:
    found: dict[str, str] = {}
    reason = ""
    for line in text_of(Path(__file__).with_name("unchecked.txt")).splitlines():
        if line.startswith("["):
            reason = line[1:-1]
        elif not line.startswith("#"):
            found.update(dict.fromkeys(line.split(), reason))
    return found


UNCHECKED: Final = _unchecked()
"""Why torch is not asked to compute an operator of the library, by the name of an overload (`segment_reduce`)."""


@cache
def may_compute(operator: Operator) -> bool:
    """Whether torch may be asked to compute an operator of the library on operands that its shape rule accepts."""
    schema = operator.schema
    results = [one.type.base for one in schema.returns]
    reads = any(argument.type.is_tensor for argument in schema.args)
    return operator.name not in UNCHECKED and bool(results) and (reads or "Tensor" in results)


def check_quotients(torch: Any, dividend: Any, divisor: Any) -> None:
    """Raise `Mismatch` where integers, tensors of torch or numbers, have a quotient that their type does not hold:
    torch leaves it to the machine, some of which end the process.
    """
    dtype = torch.result_type(dividend, divisor)
    if dtype not in (torch.int32, torch.int64):
        return
    least = torch.iinfo(dtype).min
    if bool(torch.as_tensor((dividend == least) & (divisor == -1)).any()):
        raise Mismatch("other", f"divisors other than -1 of {least}", -1)


def check_operands(torch: Any, operator: Operator, arguments: Sequence[Any]) -> None:
    """Raise `ValueError` for arguments that an operator does not take: those of its schema, in order, as torch takes
    them. Torch's kernels do not check all that they rely on.
    """
    if "trunc" in [value for value in arguments if isinstance(value, str)]:
        check_quotients(torch, *arguments[:2])
    rule = operator.shape_rule
    if rule is not None:
        rule(*(_known(torch, value) for value in arguments))


def _known(torch: Any, value: Any) -> Any:
    """The operand of a shape rule for a value of torch."""
    if isinstance(value, torch.Tensor):
        return Meta(tuple(value.shape), _dtype_of(value.dtype))
    if isinstance(value, torch.dtype):
        return _dtype_of(value)
    if isinstance(value, torch.memory_format | torch.layout):
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple):
        return tuple(_known(torch, item) for item in cast("Sequence[Any]", value))
    # Rules take the least number for one that is not known: the next means the same to all of them.
    return UNKNOWN + 1 if type(value) is int and value == UNKNOWN else value


@cache
def _dtype_of(dtype: Any) -> DType:
    name = str(dtype).removeprefix("torch.")
    for one in BY_NAME.values():
        if one.torch_name == name:
            return one
    raise ValueError(f"no operator takes elements of {name}")


def library_overload(torch: Any, operator: Operator) -> Any | None:
    """Torch's overload of an operator of the library; `None` where it has none, or must not be asked."""
    if OPERATORS.get(operator.name) is not operator or not may_compute(operator):
        return None
    if operator.namespace == "quantized_decomposed":
        import_module("torch.ao.quantization.fx._decomposed")  # registers them
    return _found(torch, operator.namespace, operator.schema.name, operator.schema.overload)


def user_overload(torch: Any, name: str, schema: Schema | None = None) -> Any | None:
    """Torch's overload of an operator of a user's own (`mylib::scale.out`), of the given schema if there is one; `None`
    where the user's code has registered none such.
    """
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    if namespace in TORCH_NAMESPACES or not all(
        part.isidentifier() and not part.startswith("__")
        for part in (namespace, packet, overload or "default")
    ):
        return None
    for known in torch._C._jit_get_schemas_for_operator(f"{namespace}::{packet}"):
        if known.overload_name != overload:
            continue
        try:
            found = parse_schema(str(known))
        except (ValueError, SyntaxError):
            return None  # of types that programs do not have
        if schema is not None and _types(found) != _types(schema):
            return None
        # Code of Python is the user's. What a library in C++ registers may also be there for another library's own use.
        if name not in torch.library._defs and not _is_computation(found):
            return None
        return _found(torch, namespace, packet, overload)
    return None


def user_overloads(torch: Any, namespace: str, packet: str) -> list[Any]:
    """Torch's overloads of an operator of a user's own, `namespace::packet`."""
    if not (namespace.isidentifier() and packet.isidentifier()):
        return []
    name = f"{namespace}::{packet}"
    known = [one.overload_name for one in torch._C._jit_get_schemas_for_operator(name)]
    found = [user_overload(torch, f"{name}.{overload}" if overload else name) for overload in known]
    return [one for one in found if one is not None]


def overload_of(torch: Any, operator: Operator) -> Any | None:
    """Torch's overload of the operator of a program, if torch may compute it: the library's, or a user's."""
    if OPERATORS.get(operator.name) is operator:
        return library_overload(torch, operator)
    return user_overload(torch, f"{operator.namespace}::{operator.overload_name}", operator.schema)


def overload_called(torch: Any, name: str) -> Any | None:
    """The overload that a graph of torch calls by name (`aten::add.Tensor`, `aten::add_.Tensor`), if torch may compute
    it. What writes to an operand is an operator of the library if its functional form is.
    """
    namespace, _, rest = name.partition("::")
    packet, dot, overload = rest.partition(".")
    prefix = "" if namespace == "aten" else f"{namespace}."
    known = OPERATORS.get(prefix + rest)
    if known is not None:
        return library_overload(torch, known)
    form = OPERATORS.get(f"{prefix}{packet[:-1]}{dot}{overload}") if is_in_place(packet) else None
    if form is not None:
        return _found(torch, namespace, packet, overload) if may_compute(form) else None
    return user_overload(torch, name)


def record_of(name: str) -> Operator | None:
    """The record of the library for an operator's name as torch and files have it: an out variant (`aten::add.out`),
    what writes to its first operand (`aten::add_.Tensor`), or the functional form (`aten::add.Tensor`).
    """
    packet, dot, overload = name.removeprefix("aten::").partition(".")
    if is_in_place(packet) and "::" not in packet:
        return OPERATORS.get(f"{packet[:-1]}{dot}{overload}")
    return operator_of_kernel(name) or OPERATORS.get(name.removeprefix("aten::").replace("::", "."))


def _found(torch: Any, namespace: str, packet: str, overload: str) -> Any | None:
    found: Any = getattr(getattr(getattr(torch.ops, namespace), packet, None), overload or "default", None)
    # A namespace or an overload may be called as a method of `torch.ops`.
    name = f"{namespace}::{packet}" + (f".{overload}" if overload else "")
    return found if isinstance(found, torch._ops.OpOverload) and found.name() == name else None


def _types(schema: Schema) -> tuple[tuple[Arg, ...], list[str]]:
    return schema.args, [str(one.type) for one in schema.returns]


def _is_computation(schema: Schema) -> bool:
    """Whether an operator computes tensors from tensors: one of strings may read files."""
    arguments = [argument.type.base for argument in schema.args]
    results = [one.type.base for one in schema.returns]
    return (
        "Tensor" in arguments
        and "Tensor" in results
        and not {"str", "Device", "Stream", "Storage"} & {*arguments}
    )
