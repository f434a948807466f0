"""Text listing of Core ML blobs for `et-vm info --delegates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.coreml.format.mil import MilProgram, MilValue

__all__ = ["coreml_lines"]

_SHOWN_ELEMENTS = 8


def coreml_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """Decode a blob: operation set, counts of operations and constants, then each operation.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.coreml.format.blob import read_coreml, reference_of
    from et_backends.coreml.format.mil import OPSETS

    model = read_coreml(blob, named)
    reference = reference_of(blob)
    program = model.program
    precision = specs.get("model_compute_precision", b"").decode(errors="replace")
    version = OPSETS.get(program.opset)
    name = f"ML program of {program.opset}" + (f" (iOS {version + 9})" if version else "")
    lines = [f"{name}{f', {precision}' if precision else ''}", *_summary(program)]
    if reference is not None:
        lines.insert(1, f"function {reference.function!r} of {reference.key!r} in the program's named data")
    for label, names in (("inputs", model.inputs), ("outputs", model.outputs)):
        types = program.types()
        lines.append(f"{label}: {', '.join(f'{one}: {types[one]}' for one in names)}")
    return [*lines, *_operations(program)]


def _summary(program: MilProgram) -> Iterator[str]:
    kinds = Counter(op.type for op in program.operations if op.value is None)
    counted = ", ".join(f"{times} {kind}" for kind, times in kinds.most_common())
    yield f"{count(kinds.total(), 'operation')}: {counted}"
    data = [op.value for op in program.operations if op.value is not None]
    yield f"{count(len(data), 'constant')}: {sum(len(one.data) for one in data):,} bytes"


def _operations(program: MilProgram) -> Iterator[str]:
    constants = {op.outputs[0][0]: op.value for op in program.operations if op.value is not None}
    for op in program.operations:
        if op.value is not None:
            continue
        operands = ", ".join(
            f"{parameter}={_operands(names, constants)}" for parameter, names in op.inputs.items()
        )
        made = ", ".join(f"{name}: {type}" for name, type in op.outputs)
        yield f"{made} = {op.type}({operands})"


def _operands(names: tuple[str, ...], constants: dict[str, MilValue]) -> str:
    shown = [_constant(constants[name]) if name in constants else name for name in names]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _constant(value: MilValue) -> str:
    """A small constant as its elements, a large one as its type."""
    from math import prod
    from struct import iter_unpack

    from et_backends.coreml.format.mil import MilTypeName

    if value.strings:
        return ", ".join(map(repr, value.strings))
    formats = {MilTypeName.BOOL: "?", MilTypeName.FLOAT32: "f", MilTypeName.INT32: "i"}
    if value.type.name not in formats or prod(value.type.shape) > _SHOWN_ELEMENTS:
        return str(value.type)
    elements = [one for (one,) in iter_unpack(formats[value.type.name], bytes(value.data))]
    texts = [f"{one:g}" if isinstance(one, float) else str(one).lower() for one in elements]
    return f"[{', '.join(texts)}]" if value.type.shape else texts[0]
