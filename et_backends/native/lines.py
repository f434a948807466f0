"""Text of machine code blobs, for `et-vm info --delegates`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.native.format import NativeTensor

__all__ = ["native_lines"]


def native_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """The decoder: the objects by instruction set, and what the code reads and writes.

    Raises InvalidFile for a blob that makes no sense.
    """
    return list(_lines(blob))


def _lines(blob: memoryview) -> Iterator[str]:
    from et_backends.native.format import read_native

    program = read_native(blob)
    for one in program.objects:
        needed = f", needs {one.cpu_features}" if one.cpu_features else ""
        yield f"code for {one.instruction_set}: {len(one.code):,} bytes{needed}"
    if program.fallback:
        yield f"portable program: {len(program.fallback):,} bytes, for where the code cannot or may not run"
    yield f"inputs: {_tensors(program.inputs)}; outputs: {_tensors(program.outputs)}"
    for word in program.words:
        yield f"input {word.input}, dimension {word.dim}: {word.least} to {word.most}"
    nbytes = sum(constant.nbytes for constant in program.constants)
    yield f"arena: {program.arena_size:,} bytes"
    yield f"{count(len(program.constants), 'constant')}: {nbytes:,} bytes of named data of the program"
    if program.derived:
        made = count(len(program.derived), "derived constant")
        yield f"{made}: {sum(program.derived):,} bytes, computed when the program is loaded"
    if program.values:
        kept = sum(one.nbytes for one in program.values)
        yield f"{count(len(program.values), 'value')} for tracers: {kept:,} bytes"


def _tensors(tensors: list[NativeTensor]) -> str:
    return ", ".join(f"{one.scalar_type.name.lower()} {_sizes(one)}" for one in tensors) or "none"


def _sizes(tensor: NativeTensor) -> str:
    return f"[{', '.join('?' if size < 0 else str(size) for size in tensor.sizes)}]"
