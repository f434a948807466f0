"""Operators of TOSA blobs as text, for `et-vm info --delegates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.tosa.format.graph import TosaBasicBlock, TosaOperator

__all__ = ["tosa_lines"]


def tosa_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """The decoder: version and target, operators by kind, constants by size, then each operator.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.tosa.format.blob import block_of, read_tosa

    graph = read_tosa(blob)
    version = graph.version
    assert version is not None
    target = specs.get("tosa_spec", b"").decode(errors="replace")
    block = block_of(graph)
    draft = " (draft)" if version.draft else ""
    lines = [f"TOSA {version.major}.{version.minor}{draft}{f', for {target}' if target else ''}"]
    return [*lines, *_summary(block), *_operators(block)]


def _summary(block: TosaBasicBlock) -> Iterator[str]:
    kinds = Counter(op.op.name for op in _computing(block))
    counted = ", ".join(f"{times} {kind}" for kind, times in kinds.most_common())
    yield f"{count(kinds.total(), 'operator')}: {counted}"
    data = [tensor for tensor in block.tensors if tensor.data]
    yield f"{count(len(block.inputs), 'input')}, {count(len(block.outputs), 'output')}"
    yield f"{count(len(data), 'constant')}: {sum(len(tensor.data or b'') for tensor in data):,} bytes"
    named = [tensor for tensor in block.tensors if tensor.variable_name and not tensor.data]
    if named:
        yield f"{count(len(named), 'constant')} in the program's named data"


def _computing(block: TosaBasicBlock) -> Iterator[TosaOperator]:
    from et_backends.tosa.format.graph import Op

    return (op for op in block.operators if op.op not in (Op.CONST, Op.CONST_SHAPE))


def _operators(block: TosaBasicBlock) -> Iterator[str]:
    types = {tensor.name: f"{tensor.type.name.lower()} {list(tensor.shape)}" for tensor in block.tensors}
    shapes = {shape.name for shape in block.shapes}
    for op in _computing(block):
        operands = ", ".join(name for name in op.inputs if name not in shapes)
        made = ", ".join(f"{name}: {types[name]}" for name in op.outputs)
        settings = "".join(f" {name}={value}" for name, value in _settings(op.attribute))
        yield f"{made} = {op.op.name}({operands}){settings}"


def _settings(attribute: Any) -> Iterator[tuple[str, str]]:
    for field in fields(attribute) if attribute is not None else ():
        value = getattr(attribute, field.name)
        if isinstance(value, bytes | memoryview):
            yield field.name, memoryview(cast("bytes", value)).hex()
        elif value is not False:
            yield field.name, str(getattr(value, "name", value)).replace(" ", "")
