"""Parameters, buffers and constants of a program as module-level symbols.

Tensors that share memory with the same layout are one symbol (tied weights). Tensors of different methods
that have the same name and content are one symbol too: that is how methods share weights and state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute

from et_ir.data.tensors import blob_of_tensor
from et_ir.dialects.program import BufferOp, ConstantOp, DataAttr, ParameterOp
from et_ir.frontend.types import UnsupportedType, tensor_type
from et_ir.frontend.unsupported import Reasons

if TYPE_CHECKING:
    from et_ir.dialects.program import GlobalOp

__all__ = ["Symbol", "SymbolTable"]

_KINDS: dict[str, type[GlobalOp]] = {"parameter": ParameterOp, "buffer": BufferOp, "constant": ConstantOp}

StorageKey = tuple[int, int | torch.SymInt, tuple[int, ...], tuple[int, ...], torch.dtype]


@dataclass(eq=False)
class Symbol:
    """One tensor of the program. It is mutable as soon as one method writes it."""

    name: str
    kind: str
    tensor: torch.Tensor
    type: TensorType[Attribute]
    methods: set[str] = field(default_factory=set[str])
    mutable: bool = False

    def op(self) -> GlobalOp:
        """The op that declares the symbol.

        Mutable state that is all zero has no data: that is how state starts. Other state is copied, because
        running the module would change it; nothing else is.
        """
        properties: dict[str, Attribute] = {"sym_name": StringAttr(self.name), "type": self.type}
        cls = BufferOp if self.mutable else _KINDS[self.kind]
        if self.mutable:
            properties["mutable"] = UnitAttr()
        if not (self.mutable and _is_zero(self.tensor)):
            tensor = self.tensor.detach().clone() if self.mutable else self.tensor
            properties["value"] = DataAttr.of(self.type.element_type, blob_of_tensor(self.name, tensor))
        return cls.create(properties=properties)


def _flat_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor in contiguous order; a view where it is contiguous already."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)


def _is_zero(tensor: torch.Tensor) -> bool:
    """Whether all bits are zero (-0.0 is not)."""
    return tensor.numel() == 0 or not bool(torch.count_nonzero(_flat_bytes(tensor)))


def _same_content(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits (NaN equals itself, 0.0 differs from -0.0)."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.numel() == 0 or torch.equal(_flat_bytes(a), _flat_bytes(b))


class SymbolTable:
    """The symbols of a program, found by (method, name) and declared in the order in which they were first
    met.
    """

    def __init__(self, reasons: Reasons):
        self.reasons = reasons
        self.symbols: dict[str, Symbol] = {}
        self._by_key: dict[StorageKey, Symbol] = {}
        self._by_fqn: dict[str, Symbol] = {}

    def declare(self, method: str, fqn: str, kind: str, tensor: object, *, mutated: bool) -> Symbol | None:
        """The symbol for a tensor of a method; `None` if it cannot be one, which has then been reported."""
        subject = f'{kind} "{fqn}"'
        if not isinstance(tensor, torch.Tensor):
            self.reasons.add(subject, "its value is not a tensor", "keep it outside forward")
            return None
        if isinstance(tensor, FakeTensor) or tensor.device.type == "meta":
            self.reasons.add(subject, "it has no data", "materialize the module before export")
            return None
        if is_traceable_wrapper_subclass(tensor):
            self.reasons.add(
                subject,
                f"it is a tensor subclass, {type(tensor).__name__}",
                "unwrap it with torchao.utils.unwrap_tensor_subclass before export",
            )
            return None
        try:
            type_ = tensor_type(tensor)
        except UnsupportedType as error:
            self.reasons.add(subject, str(error), error.fix)
            return None
        symbol = self._find(method, fqn, kind, tensor, type_, mutated)
        symbol.methods.add(method)
        symbol.mutable |= mutated
        return symbol

    def _find(
        self,
        method: str,
        fqn: str,
        kind: str,
        tensor: torch.Tensor,
        type: TensorType[Attribute],
        mutated: bool,
    ) -> Symbol:
        key: StorageKey | None = None
        if tensor.numel():
            storage = tensor.untyped_storage().data_ptr()
            key = (
                storage,
                tensor.storage_offset(),
                tuple(tensor.shape),
                tuple(tensor.stride()),
                tensor.dtype,
            )
            same = self._by_key.get(key)
            if same is not None:
                self._by_fqn.setdefault(fqn, same)
                return same
        name, known = fqn, self._by_fqn.get(fqn)
        if known is not None:
            if _same_content(known.tensor, tensor):
                return known
            if mutated or known.mutable:
                self.reasons.add(
                    f'{kind} "{fqn}"',
                    f"it is state of the methods {', '.join(sorted({*known.methods, method}))}, "
                    "which initialize it differently",
                    "export all methods from one module, or give the buffers different names",
                )
                return known
            name = f"{method}.{fqn}"
        while name in self.symbols:
            name += "_"
        symbol = self.symbols[name] = Symbol(name, kind, tensor, type)
        self._by_fqn.setdefault(fqn, symbol)
        if key is not None:
            self._by_key[key] = symbol
        return symbol

    def check_aliases(self) -> None:
        """Report mutable state that shares memory with another symbol: writing one would have to change the
        other.
        """
        owners: dict[int, Symbol] = {}
        for symbol in self.symbols.values():
            if symbol.mutable and symbol.tensor.numel():
                owners[symbol.tensor.untyped_storage().data_ptr()] = symbol
        for symbol in self.symbols.values():
            owner = owners.get(symbol.tensor.untyped_storage().data_ptr())
            if owner is not None and owner is not symbol and symbol.tensor.numel():
                self.reasons.add(
                    f'{owner.kind} "{owner.name}"',
                    f'it is mutated and shares memory with {symbol.kind} "{symbol.name}"',
                    "register a clone()",
                )
