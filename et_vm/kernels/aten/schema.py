"""Torch's schemas, read into what the VM's verifier and the kernels need."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from et_vm.kernels.registry import Param

# What kinds of program values an argument of each schema type takes; of an optional one, None as well.
_KINDS: dict[str, tuple[str, ...]] = {
    "Tensor": ("Tensor",),
    "int": ("Int",),
    "SymInt": ("Int",),
    "float": ("Double", "Int"),
    "bool": ("Bool",),
    "str": ("String",),
    "number": ("Int", "Double", "Bool"),
    "ScalarType": ("Int",),
    "MemoryFormat": ("Int",),
    "Layout": ("Int",),
    "Device": ("Int",),
    "Generator": (),
    "List[int]": ("IntList",),
    "List[SymInt]": ("IntList",),
    "List[float]": ("DoubleList",),
    "List[bool]": ("BoolList",),
    "List[Tensor]": ("TensorList",),
    "List[Optional[Tensor]]": ("TensorList", "OptionalTensorList"),
}


class Argument(NamedTuple):
    """One argument of an operator; ``type`` without its Optional."""

    name: str
    type: str
    optional: bool
    keyword: bool
    default: object
    has_default: bool
    is_written: bool


class Operator(NamedTuple):
    """An operator of torch: its callable, and its arguments in schema order."""

    name: str
    overload: Any
    inputs: tuple[Argument, ...]
    outs: tuple[Argument, ...]

    @property
    def parameters(self) -> tuple[Param, ...]:
        """The arguments as the VM's verifier knows them."""
        return tuple(_parameter(argument) for argument in (*self.inputs, *self.outs))

    @property
    def returns_list(self) -> bool:
        """Whether the outputs are one list."""
        return any(out.type == "List[Tensor]" for out in self.outs)


def _parameter(argument: Argument) -> Param:
    known = _KINDS.get(argument.type)
    kinds = set(known or ())
    if argument.optional and known is not None:
        kinds.add("Null")
    return Param(argument.name, frozenset(kinds), argument.type == "float")


def _argument(raw: Any) -> Argument:
    kind = str(raw.real_type)
    optional = kind.startswith("Optional[")
    return Argument(
        name=raw.name,
        type=kind[len("Optional[") : -1] if optional else kind,
        optional=optional,
        keyword=bool(raw.kwarg_only),
        default=raw.default_value if raw.has_default_value() else None,
        has_default=bool(raw.has_default_value()),
        is_written=raw.alias_info is not None and bool(raw.alias_info.is_write),
    )


def operators() -> Iterator[str]:
    """Names, as ExecuTorch writes them, of the operators of torch that write to an out tensor or to
    ``self``.
    """
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore[reportPrivateUsage] no public list exists
        written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if not written or not schema.name.startswith("aten::"):
            continue
        in_place = schema.name.endswith("_") and not schema.name.endswith("__")
        if in_place or any(a.kwarg_only for a in written):
            yield f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


_OWN = frozenset(
    {"aten", "prim", "prims", "quantized", "onednn", "mkldnn", "inductor", "profiler", "static_runtime"}
)


def custom_operators() -> Iterator[str]:
    """The names of the out variants in torch's registry that are of other libraries than torch's own, now."""
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore[reportPrivateUsage]
        written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if schema.name.partition("::")[0] not in _OWN and any(a.kwarg_only for a in written):
            yield f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


@functools.cache
def operator(name: str) -> Operator:
    """The operator called ``name`` (``aten::add.out``). Raises AttributeError when torch has none."""
    namespace, _, rest = name.partition("::")
    packet, _, overload_name = rest.partition(".")
    overload = getattr(getattr(getattr(torch.ops, namespace), packet), overload_name or "default")
    arguments = [_argument(raw) for raw in overload._schema.arguments]
    outs = tuple(a for a in arguments if a.is_written and a.keyword)
    return Operator(name, overload, tuple(a for a in arguments if a not in outs), outs)


_PLACING = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format"})


def _key(argument: Argument) -> tuple[str, str, bool]:
    return argument.name, argument.type, argument.optional


@functools.cache
def functional(name: str) -> Any | None:
    """The overload that takes the inputs of the operator ``name`` and returns what that writes, if there is one."""
    op = operator(name)
    wanted = [_key(argument) for argument in op.inputs]
    packet = op.overload.overloadpacket
    for which in packet.overloads():
        overload = getattr(packet, which)
        arguments = [_argument(raw) for raw in overload._schema.arguments]
        # What only a functional form takes is the type and place of its result.
        takes = [_key(argument) for argument in arguments if _key(argument) in wanted]
        others = [a for a in arguments if _key(a) not in wanted]
        placing = all(argument.name in _PLACING for argument in others)
        if takes == wanted and placing and not any(argument.is_written for argument in arguments):
            return overload
    return None
