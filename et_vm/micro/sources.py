"""Sources of a runtime for selected operators: fixed files and two generated ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Final

from et_schema.errors import MissingOperator
from et_vm.kernels.prims import PRIMS, Prim
from et_vm.micro.kernels import Kernel, parameter_masks, type_masks
from et_vm.micro.keys import KernelKey
from et_vm.micro.selection import Selection, select
from et_vm.micro.tables import kind_mask, tables_header

__all__ = ["CORE", "KERNEL_SOURCES", "WITHOUT", "runtime_sources"]

CORE: Final = (
    "et_program.c",
    "et_check.c",
    "et_verify.c",
    "et_load.c",
    "et_method.c",
    "et_tensor.c",
    "et_memory.c",
    "et_prims.c",
)
"""Loader, verifier and loop."""
KERNEL_SOURCES: Final = (
    "et_pointwise.c",
    "et_matrix.c",
    "et_window.c",
    "et_movement.c",
    "et_reduce.c",
    "et_integer.c",
)
_HEADERS: Final = ("et_micro.h", "et_internal.h")
_PACKAGE: Final = "et_vm.micro.c"
_ARITHMETIC: Final = frozenset(
    (
        *("add.Scalar", "sub.Scalar", "mul.Scalar", "truediv.Scalar", "floordiv.Scalar", "floordiv.int"),
        *("mod.int", "mod.Scalar", "sym_max.Scalar", "sym_min.Scalar"),
    )
)
_COMPARISON: Final = frozenset(("eq.Scalar", "gt.Scalar", "lt.Scalar", "ge.Scalar", "le.Scalar"))
WITHOUT: Final = frozenset({"sym_int.Scalar", "ceil.Scalar", "trunc.Scalar", "round.Scalar"})
"""Primitive operators without a function in C."""


def runtime_sources(selection: Selection) -> dict[str, str]:
    """Texts of the files by name. Raises MissingOperator for operators that have no kernel in C."""
    kernels = select(selection)
    prims = [name for name in PRIMS if name in selection.keys]
    missing = [name for name in prims if _short(name) in WITHOUT]
    if missing:
        raise MissingOperator(missing, hint="the runtime in C has no function for these primitive operators")
    folder = files(_PACKAGE)
    texts = {name: folder.joinpath(name).read_text("utf-8") for name in (*_HEADERS, *CORE, *KERNEL_SOURCES)}
    texts["et_tables.h"] = tables_header()
    texts["et_selected.h"] = "\n".join(_selected(kernels)) + "\n"
    texts["et_prims.h"] = "\n".join(_selected_prims(prims)) + "\n"
    texts["et_selected.c"] = "\n".join(_registry(kernels, prims)) + "\n"
    return texts


def _short(name: str) -> str:
    return name.partition("::")[2]


def _function(name: str) -> str:
    return f"et_prim_{_short(name).replace('.', '_')}"


def _selected(kernels: Sequence[tuple[Kernel, frozenset[KernelKey] | None]]) -> Iterator[str]:
    yield "/* Generated: the kernels that are compiled. */\n#ifndef ET_SELECTED_H\n#define ET_SELECTED_H\n"
    for macro in sorted({f"ET_{kernel.group}" for kernel, _ in kernels if kernel.group}):
        yield f"#define {macro}"
    for kernel, _ in kernels:
        yield f"#define ET_KERNEL_{kernel.name.upper()}"
        yield f"et_error et_{kernel.name}(const et_call *call);"
    yield "#endif"


def _selected_prims(prims: Sequence[str]) -> Iterator[str]:
    yield "/* Generated: the primitive operators that are compiled. */"
    for name in prims:
        yield f"#define ET_PRIM_{_short(name).replace('.', '_').upper()}"
        yield f"et_error {_function(name)}(const et_call *call);"
    if any(_short(name) in _ARITHMETIC for name in prims):
        yield "#define ET_PRIM_ARITHMETIC"
    if any(_short(name) in _COMPARISON for name in prims):
        yield "#define ET_PRIM_COMPARISON"


def _registry(
    kernels: Sequence[tuple[Kernel, frozenset[KernelKey] | None]], prims: Sequence[str]
) -> Iterator[str]:
    yield "/* Generated: operators and their kernels. */"
    yield '#include "et_internal.h"\n#include "et_prims.h"\n#include "et_selected.h"\n'
    for kernel, keys in kernels:
        masks = ", ".join(f"{mask:#x}" for mask in parameter_masks(kernel.operator))
        yield f"static const uint16_t params_{kernel.name}[] = {{{masks}}};"
        types = ", ".join(f"{mask:#x}" for mask in type_masks(kernel))
        yield f"static const uint32_t types_{kernel.name}[] = {{{types}}};"
        if keys is not None:
            numbers = ", ".join(str(number) for key in sorted(keys) for number in _packed(key))
            yield f"static const uint8_t keys_{kernel.name}[] = {{{numbers}}};"
    yield "const et_kernel et_kernels[] = {"
    for kernel, keys in kernels:
        where = "NULL" if keys is None else f"keys_{kernel.name}"
        count = len(parameter_masks(kernel.operator))
        arrays = f"params_{kernel.name}, types_{kernel.name}, {where}"
        flags = ", ".join("true" if one else "false" for one in (kernel.uniform, kernel.in_place))
        numbers = f"{count}, {len(keys or ())}, {flags}"
        yield f'    {{"{kernel.operator}", {arrays}, et_{kernel.name}, {numbers}}},'
    if not kernels:
        yield '    {"", NULL, NULL, NULL, NULL, 0, 0, false, false},'
    yield f"}};\nconst uint32_t et_kernel_count = {len(kernels)};\n"
    yield "const et_prim et_prims[] = {"
    for prim in PRIMS.values():
        yield f"    {_prim(prim, prim.name in prims)},"
    yield f"}};\nconst uint32_t et_prim_count = {len(PRIMS)};"


def _packed(key: KernelKey) -> Iterator[int]:
    """A key as bytes, without the outputs that it has twice."""
    own = key[:-1]
    yield len(own)
    for kind, order in own:
        yield from (int(kind), len(order), *order)


def _prim(prim: Prim, selected: bool) -> str:
    masks = ", ".join(f"{kind_mask(kinds):#x}" for _, kinds in prim.params)
    result = 0 if prim.in_place else kind_mask(prim.result)
    name = prim.name.removeprefix("executorch_prim::")
    return f'{{"{name}", {_function(prim.name) if selected else "NULL"}, {{{masks}}}, {result:#x}, {prim.arity}}}'
