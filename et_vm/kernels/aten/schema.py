"""Torch's operators: their schemas, read by the operator library, and what the VM's verifier makes of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from et_ops import Arg, ArgType, parse_schema
from et_ops.conventions import is_in_place
from et_ops.torch_operators import TORCH_NAMESPACES, may_compute, record_of, user_overload
from et_vm.kernels.registry import Param

# What kinds of program values an argument of each schema type takes; of an optional one, None as well.
_KINDS: dict[str, tuple[str, ...]] = {
    "Tensor": ("Tensor",),
    "int": ("Int",),
    "SymInt": ("Int",),
    "float": ("Double", "Int"),
    "bool": ("Bool",),
    "str": ("String",),
    "Scalar": ("Int", "Double", "Bool"),
    "ScalarType": ("Int",),
    "MemoryFormat": ("Int",),
    "Layout": ("Int",),
    "Device": ("Int",),
    "Generator": (),
    "int[]": ("IntList",),
    "SymInt[]": ("IntList",),
    "float[]": ("DoubleList",),
    "bool[]": ("BoolList",),
    "Tensor[]": ("TensorList",),
    "Tensor?[]": ("TensorList", "OptionalTensorList"),
}


class TorchOperator(NamedTuple):
    """An operator of torch: its callable, and its arguments in schema order."""

    name: str
    overload: Any
    inputs: tuple[Arg, ...]
    outs: tuple[Arg, ...]

    @property
    def parameters(self) -> tuple[Param, ...]:
        """The arguments as the VM's verifier knows them."""
        return tuple(_parameter(argument) for argument in (*self.inputs, *self.outs))

    @property
    def returns_list(self) -> bool:
        """Whether the outputs are one list."""
        return any(out.type.is_list for out in self.outs)


def _unsized(type: ArgType) -> ArgType:
    """A type that says neither how long a list is nor that there may be none."""
    return replace(type, list_size=None, optional=False)


def _parameter(argument: Arg) -> Param:
    known = _KINDS.get(str(_unsized(argument.type)))
    kinds = set(known or ())
    if argument.type.optional and known is not None:
        kinds.add("Null")
    return Param(argument.name, frozenset(kinds), str(_unsized(argument.type)) == "float")


@functools.cache
def operators() -> tuple[str, ...]:
    """Names, as ExecuTorch writes them, of the operators of the library that torch computes by writing to an out tensor
    or to `self` (`et_ops.torch_operators`), all of the result.
    """
    return tuple(_operators())


def _operators() -> Iterator[str]:
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore[reportPrivateUsage] no public list exists
        written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if not written or not schema.name.startswith("aten::"):
            continue
        if not all("Tensor" in str(a.type) for a in written):
            continue  # the methods of Python's lists and dictionaries
        if not is_in_place(schema.name) and not any(a.kwarg_only for a in written):
            continue
        name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        record = record_of(name)
        # What torch leaves unspecified is what memory of the process held before.
        if record is not None and may_compute(record) and not record.facts.unspecified:
            yield name


def custom_operators() -> Iterator[str]:
    """The names of the out variants in torch's registry that are of other libraries than torch's own, now."""
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore[reportPrivateUsage]
        written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if schema.name.partition("::")[0] not in TORCH_NAMESPACES and any(a.kwarg_only for a in written):
            yield f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


@functools.cache
def operator(name: str) -> TorchOperator:
    """The operator called `name` (`aten::add.out`), of torch's own or a user's library; programs reach of torch's only
    `operators`.

    Raises AttributeError where there is none, ValueError for one with types that programs do not hold.
    """
    namespace, _, rest = name.partition("::")
    packet, _, overload_name = rest.partition(".")
    overload: Any = (
        getattr(getattr(torch.ops.aten, packet), overload_name or "default")
        if namespace == "aten"
        else user_overload(torch, name)
    )
    if overload is None:
        raise AttributeError(f"no library of a user has {name}")
    schema = parse_schema(str(overload._schema))
    outs = schema.out_args
    return TorchOperator(name, overload, tuple(arg for arg in schema.args if arg not in outs), outs)


_PLACING = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format"})


def _key(argument: Arg) -> tuple[str, ArgType]:
    return argument.name, replace(argument.type, list_size=None)


@functools.cache
def functional(name: str) -> Any | None:
    """The overload that takes the inputs of the operator `name` and returns what that writes, if there is one."""
    op = operator(name)
    wanted = [_key(argument) for argument in op.inputs]
    packet = op.overload.overloadpacket
    for which in packet.overloads():
        overload = getattr(packet, which)
        if overload._schema.is_mutable:
            continue
        arguments = parse_schema(str(overload._schema)).args
        # What only a functional form takes is the type and place of its result.
        takes = [_key(argument) for argument in arguments if _key(argument) in wanted]
        placing = all(argument.name in _PLACING for argument in arguments if _key(argument) not in wanted)
        if takes == wanted and placing:
            return overload
    return None
