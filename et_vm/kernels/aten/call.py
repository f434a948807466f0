"""Calls of an operator with arguments in torch's forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, cast

import torch
from numpy.lib.array_utils import byte_bounds

from et_ops import Arg
from et_vm.kernels.aten.binding import torch_dtype
from et_vm.kernels.aten.schema import TorchOperator
from et_vm.values import Tensor

MEMORY_FORMATS = {
    0: torch.contiguous_format,
    1: torch.preserve_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
}


def _convert(value: Any, argument: Arg, tensor: Callable[[Tensor], torch.Tensor]) -> Any:
    """An argument as torch takes it: tensors through `tensor`, numbers that stand for types as the types."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        return tensor(value)
    if argument.type.is_list and argument.type.is_tensor:
        return [None if item is None else tensor(item) for item in value]
    if argument.type.base == "ScalarType":
        return torch_dtype(value)
    if argument.type.base == "MemoryFormat":
        return MEMORY_FORMATS[value]
    return value


def _is_default(value: Any, argument: Arg) -> bool:
    default = list(argument.default) if isinstance(argument.default, tuple) else argument.default
    return type(value) is type(default) and value == default


class AtenCall:
    """An operator with the VM's `values` for its arguments, the outputs last."""

    def __init__(self, op: TorchOperator, values: Sequence[Any]) -> None:
        self.op = op
        self.values = values
        count = len(op.inputs)
        self.inputs = values[:count]
        self.outs: list[Tensor] = values[count] if op.returns_list else list(values[count:])

    def arguments(self, tensor: Callable[[Tensor], torch.Tensor]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments without the outputs; defaults are left out where nothing follows
        them.
        """
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        used = 0
        for value, argument in zip(self.inputs, self.op.inputs, strict=True):
            if argument.kwarg_only:
                if not _is_default(value, argument):
                    keywords[argument.name] = _convert(value, argument, tensor)
                continue
            positional.append(_convert(value, argument, tensor))
            if not _is_default(value, argument):
                used = len(positional)
        return positional[:used], keywords

    def overlaps(self) -> bool:
        """Whether a tensor that the call writes has bytes of another tensor of the call."""
        arguments = chain(zip(self.inputs, self.op.inputs, strict=True), ((out, None) for out in self.outs))
        spans = [
            (*byte_bounds(tensor.array), argument is None or argument.is_mutated)
            for value, argument in arguments
            for tensor in (cast("list[Any]", value) if isinstance(value, list) else [value])
            if isinstance(tensor, Tensor) and tensor.array.size
        ]
        used_to = written_to = 0
        for start, end, written in sorted(spans):
            if start < written_to or (written and start < used_to):
                return True
            used_to = max(used_to, end)
            written_to = max(written_to, end) if written else written_to
        return False

    def with_outs(self, keywords: dict[str, Any], outs: Sequence[torch.Tensor]) -> dict[str, Any]:
        """The keyword arguments of the overload itself, the outputs under their own names."""
        if self.op.returns_list:
            return {**keywords, self.op.outs[0].name: list(outs)}
        return {**keywords, **{a.name: out for a, out in zip(self.op.outs, outs, strict=True)}}
