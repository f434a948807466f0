"""The C interface of a freestanding object: names, shapes and types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from et_ir.data import Blob
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.program import GlobalOp, LoadOp, StoreOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.planning import align_up
from et_schema.scalar_type import ScalarType

__all__ = [
    "C_TYPES",
    "Interface",
    "StateTensor",
    "Tensor",
    "c_name",
    "interface_of",
    "state_bytes",
    "state_of",
]

C_TYPES: Final = {
    ScalarType.FLOAT: "float",
    ScalarType.DOUBLE: "double",
    ScalarType.BYTE: "uint8_t",
    ScalarType.CHAR: "int8_t",
    ScalarType.SHORT: "int16_t",
    ScalarType.INT: "int32_t",
    ScalarType.LONG: "int64_t",
    ScalarType.BOOL: "uint8_t",
}

# fmt: off
_KEYWORDS: Final = frozenset((
    "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default", "delete", "do", "double",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int",
    "long", "mutable", "namespace", "new", "nullptr", "operator", "private", "protected", "public", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw",
    "true", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while",
))
"""Words of C and C++ that no tensor can be called."""
# fmt: on


@dataclass(frozen=True)
class Tensor:
    """An input or output of a method."""

    name: str
    """As the header has it."""
    element: ScalarType
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.count * self.element.itemsize


@dataclass(frozen=True)
class StateTensor:
    """A mutable buffer in the structure with the state."""

    tensor: Tensor
    symbol: str
    """Its name in the program."""
    offset: int
    """Bytes from the start of the structure."""
    value: Blob | None
    """Its initial contents; None for zeros."""


@dataclass(frozen=True)
class Interface:
    """A function of an object, as C sees it."""

    prefix: str
    """The prefix of all names."""
    method: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    arena_bytes: int
    """Of the arena, or of all arenas together."""
    arena_alignment: int
    state_bytes: int
    """Of the structure with the state of the program, which the caller has; 0 where there is none."""
    messages: Sequence[str]
    """Meanings of the results 1, 2, …"""
    arenas: Mapping[str, int] = field(default_factory=dict[str, int])
    """The bytes of each arena by the name of its bank, where there are several."""

    @property
    def function(self) -> str:
        """The name of the function."""
        return f"{self.prefix}_{self.method}"


def c_name(text: str) -> str:
    """A name that C and C++ take, with the letters and digits of a text."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    if not name or name[0].isdigit():
        name = f"_{name}" if name else "net"
    return f"{name}_" if name in _KEYWORDS else name


def state_of(module: ModuleOp) -> list[StateTensor]:
    """The mutable buffers that methods of a program read or write, as fields of a structure in C, in their order."""
    used = {op.symbol.string_value() for op in module.walk() if isinstance(op, LoadOp | StoreOp)}
    made: list[StateTensor] = []
    taken: set[str] = set()
    end = 0
    for op in module.body.block.ops:
        if isinstance(op, GlobalOp) and op.key in used:
            tensor = _tensor_of(op.type, op.key, taken)
            offset = align_up(end, tensor.element.itemsize)
            made.append(StateTensor(tensor, op.key, offset, None if op.value is None else op.value.blob))
            end = offset + tensor.nbytes
    return made


def state_bytes(state: Sequence[StateTensor]) -> int:
    """Bytes of the structure with the state: a multiple of the largest alignment of a field."""
    if not state:
        return 0
    end = state[-1].offset + state[-1].tensor.nbytes
    return align_up(end, max(one.tensor.element.itemsize for one in state))


def interface_of(
    method: FuncOp,
    name: str,
    arenas: Mapping[str, int],
    alignment: int,
    state_bytes: int,
    messages: Sequence[str],
) -> Interface:
    """The interface of a method whose tensors have known sizes; `arenas` has bytes by the name of the bank."""
    taken: set[str] = set()
    end = method.body.block.last_op
    assert isinstance(end, ReturnOp)
    inputs = [
        _tensor(value, f"input{number}" if value.name_hint is None else value.name_hint, taken)
        for number, value in enumerate(method.body.block.args)
    ]
    outputs = [_tensor(value, f"output{number}", taken) for number, value in enumerate(end.arguments)]
    return Interface(
        c_name(name),
        c_name(method.sym_name.data),
        inputs,
        outputs,
        sum(arenas.values()),
        alignment,
        state_bytes,
        messages,
        arenas if len(arenas) > 1 else {},
    )


def _tensor(value: SSAValue, name: str, taken: set[str]) -> Tensor:
    return _tensor_of(tensor_type(value), name, taken)


def _tensor_of(type: TensorType[Attribute], name: str, taken: set[str]) -> Tensor:
    made = base = c_name(name)
    number = 2
    while made in taken:
        made = f"{base}_{number}"
        number += 1
    taken.add(made)
    return Tensor(
        made,
        scalar_type(type.element_type),
        tuple(type.get_shape()),
        tuple(dim_order_of(type)),
    )
