"""The C header of a freestanding object: structures of pointers, sizes and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from et_backends.freestanding.compiler.constant_methods import Literal, c_literal
from et_backends.freestanding.compiler.interface import C_TYPES, Interface, StateTensor, Tensor, c_name

__all__ = ["header", "is_header", "type_names"]

_WRITER = "by et-compile"


def header(
    comment: str,
    methods: Sequence[Interface],
    arenas: Mapping[str, int],
    state: Sequence[StateTensor],
    stack_bytes: int,
    literals: Mapping[str, Literal],
) -> str:
    """The header of a program; `comment` describes it on one line, `stack_bytes` is the stack requirement of a call,
    and `literals` has what constant methods return. `arenas` are the bytes of arenas by the names of their banks, or
    those of the only one.

    Names start with that of the program, and with that of the method where there are several.
    """
    prefix = methods[0].prefix
    upper = prefix.upper()
    lines = [
        f"/* {comment} {_WRITER} */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_sizes(upper, arenas),
        f"#define {upper}_ARENA_ALIGNMENT {methods[0].arena_alignment}",
        f"#define {upper}_STACK_BYTES {stack_bytes}",
        *(f"#define {upper}_{c_name(name).upper()} {c_literal(value)}" for name, value in literals.items()),
        "",
    ]
    if len(arenas) > 1:
        lines += _arenas(prefix, arenas)
    if state:
        lines += _state(prefix, state)
    for one in methods:
        names = _names(one, methods)
        lines += [*_structures(names, one), *_function(names, one)]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def is_header(path: Path) -> bool:
    """Whether a file is a header that `header` has made."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        return stream.readline().endswith(f"{_WRITER} */\n")


def type_names(methods: Sequence[Interface], *, has_state: bool) -> list[str]:
    """The names of the structures of a header."""
    prefix = methods[0].prefix
    made = [f"{_names(one, methods)}_{kind}" for one in methods for kind in ("inputs", "outputs")]
    made += [f"{prefix}_arenas"] if methods[0].arenas else []
    return [*made, f"{prefix}_state"] if has_state else made


def _names(method: Interface, methods: Sequence[Interface]) -> str:
    """The prefix of what belongs to a method."""
    return method.prefix if len(methods) == 1 else method.function


def _sizes(upper: str, arenas: Mapping[str, int]) -> list[str]:
    if len(arenas) == 1:
        return [f"#define {upper}_ARENA_BYTES {nbytes}" for nbytes in arenas.values()]
    return [f"#define {upper}_{c_name(bank).upper()}_ARENA_BYTES {nbytes}" for bank, nbytes in arenas.items()]


def _arenas(prefix: str, arenas: Mapping[str, int]) -> list[str]:
    return [
        "/* Memory for intermediate tensors in each bank. */",
        f"typedef struct {prefix}_arenas {{",
        *(f"  void *{c_name(bank)}; /* {nbytes:,} bytes */" for bank, nbytes in arenas.items()),
        f"}} {prefix}_arenas;",
        "",
    ]


def _state(prefix: str, state: Sequence[StateTensor]) -> list[str]:
    lines = ["/* What methods keep from one call to the next. */", f"typedef struct {prefix}_state {{"]
    lines += [f"  {_field(one.tensor)}" for one in state]
    lines += [
        f"}} {prefix}_state;",
        "",
        "/* Sets the state to what it is before the first call. */",
        f"void {prefix}_reset_state({prefix}_state *state);",
        "",
    ]
    return lines


def _field(tensor: Tensor) -> str:
    return f"{C_TYPES[tensor.element]} {tensor.name}[{tensor.count}]; /* {_shape(tensor)} */"


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "a number"


def _structures(names: str, method: Interface) -> list[str]:
    """Sizes and structures of inputs and outputs."""
    lines: list[str] = []
    for kind, tensors in (("inputs", method.inputs), ("outputs", method.outputs)):
        for one in tensors:
            name = f"{names.upper()}_{one.name.upper()}"
            lines += [
                f"#define {name}_COUNT {one.count}",
                f"#define {name}_RANK {len(one.shape)}",
                f"#define {name}_SHAPE {{{', '.join(map(str, one.shape)) or '0'}}}",
            ]
            if one.dim_order != tuple(range(len(one.shape))):
                lines.append(f"#define {name}_DIM_ORDER {{{', '.join(map(str, one.dim_order))}}}")
        lines += ["", f"typedef struct {names}_{kind} {{"]
        const = "const " if kind == "inputs" else ""
        lines += [f"  {const}{C_TYPES[one.element]} *{one.name}; /* {_shape(one)} */" for one in tensors]
        if not tensors:
            lines.append("  char unused;")
        lines += [f"}} {names}_{kind};", ""]
    return lines


def _function(names: str, method: Interface) -> list[str]:
    subject, what = (
        ("Arenas are at multiples", "they hold")
        if method.arenas
        else (
            "`arena` is at a multiple",
            "it holds",
        )
    )
    text = (
        f"/* Computes the outputs from the inputs. {subject} of the alignment; what {what}\n"
        "   before does not matter, and no call reads what another has left there. Returns 0"
    )
    if method.messages:
        lines = [f"{text}, or:"]
        lines += [f"   {number} — {_in_comment(text)}" for number, text in enumerate(method.messages, 1)]
        lines.append("*/")
    else:
        lines = [f"{text}. */"]
    state = f"{method.prefix}_state *state, " if method.state_bytes else ""
    arena = f"const {method.prefix}_arenas *arenas" if method.arenas else "void *arena"
    start = f"int {method.function}("
    arguments = f"const {names}_inputs *inputs, {names}_outputs *outputs, {state}{arena}"
    return [*lines, f"{start}{arguments});", ""]


def _in_comment(text: str) -> str:
    return text.replace("*/", "* /").replace("\n", " ")
