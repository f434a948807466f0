"""The C interface of a freestanding object: structures of pointers, sizes and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.schema.tensors import tensor_type
from et_schema.scalar_type import ScalarType

__all__ = ["Interface", "Tensor", "interface_of"]

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
class Interface:
    """A function of an object, as C sees it."""

    prefix: str
    """What all names begin with."""
    method: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    arena_bytes: int
    arena_alignment: int
    messages: Sequence[str]
    """Meanings of the results 1, 2, …"""

    @property
    def function(self) -> str:
        """The name of the function."""
        return f"{self.prefix}_{self.method}"

    def header(self, comment: str, stack_bytes: int) -> str:
        """The C header; `comment` says what it is of, `stack_bytes` is what a call needs of the stack."""
        upper = self.prefix.upper()
        lines = [
            f"/* {comment} */",
            f"#ifndef {upper}_H",
            f"#define {upper}_H",
            "",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"#define {upper}_ARENA_BYTES {self.arena_bytes}",
            f"#define {upper}_ARENA_ALIGNMENT {self.arena_alignment}",
            f"#define {upper}_STACK_BYTES {stack_bytes}",
            "",
        ]
        for kind, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            for one in tensors:
                name = f"{upper}_{one.name.upper()}"
                lines += [
                    f"#define {name}_COUNT {one.count}",
                    f"#define {name}_RANK {len(one.shape)}",
                    f"#define {name}_SHAPE {{{', '.join(map(str, one.shape)) or '0'}}}",
                ]
                if one.dim_order != tuple(range(len(one.shape))):
                    lines.append(f"#define {name}_DIM_ORDER {{{', '.join(map(str, one.dim_order))}}}")
            lines += ["", f"typedef struct {self.prefix}_{kind} {{"]
            const = "const " if kind == "inputs" else ""
            for one in tensors:
                shape = " × ".join(map(str, one.shape)) or "a number"
                lines.append(f"  {const}{C_TYPES[one.element]} *{one.name}; /* {shape} */")
            if not tensors:
                lines.append("  char unused;")
            lines += [f"}} {self.prefix}_{kind};", ""]
        lines += [
            "/* Computes the outputs from the inputs. `arena` is at a multiple of the alignment; what it holds",
            "   before does not matter, and no call reads what another has left. Returns 0, or:",
            *(f"   {number} — {_in_comment(text)}" for number, text in enumerate(self.messages, 1)),
            "*/",
            f"int {self.function}(const {self.prefix}_inputs *inputs, {self.prefix}_outputs *outputs, void *arena);",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
        if not self.messages:
            place = lines.index(
                "   before does not matter, and no call reads what another has left. Returns 0, or:"
            )
            lines[place : place + 2] = [
                "   not matter, and no call reads what another has left. Returns 0. */"
            ]
        return "\n".join(lines)


def _in_comment(text: str) -> str:
    return text.replace("*/", "* /").replace("\n", " ")


def _c_name(text: str) -> str:
    """A name that C and C++ take, with the letters and digits of a text."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    if not name or name[0].isdigit():
        name = f"_{name}" if name else "net"
    return f"{name}_" if name in _KEYWORDS else name


def interface_of(method: FuncOp, name: str, arena: tuple[int, int], messages: Sequence[str]) -> Interface:
    """The interface of a method whose tensors have known sizes; `arena` is its size and alignment in bytes."""
    taken: set[str] = set()
    end = method.body.block.last_op
    assert isinstance(end, ReturnOp)
    inputs = [
        _tensor(value, f"input{number}" if value.name_hint is None else value.name_hint, taken)
        for number, value in enumerate(method.body.block.args)
    ]
    outputs = [_tensor(value, f"output{number}", taken) for number, value in enumerate(end.arguments)]
    return Interface(_c_name(name), _c_name(method.sym_name.data), inputs, outputs, *arena, messages)


def _tensor(value: SSAValue, name: str, taken: set[str]) -> Tensor:
    type = tensor_type(value)
    made = base = _c_name(name)
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
