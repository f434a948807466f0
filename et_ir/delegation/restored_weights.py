"""Duplication of dequantized weights for each reader while partitions are formed.

```mlir
%1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z …         // before: a table is a weight, too
%2 = edge.embedding %1, %ids
%3 = edge.linear %x, %1

%1 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z …                 // after
%2 = edge.embedding %1, %ids
%4 = edge.quantized_decomposed.dequantize_per_channel %w, %s, %z …
%3 = edge.linear %x, %4
```

A backend that multiplies integers takes an op with the one that restores its weight, which has to be in the same
partition. Where only some of the ops that read a weight are in one, it would be an input, in floats.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.dialects.program import GetOp

__all__ = ["merge_weights", "separate_weights"]


def separate_weights(method: FuncOp) -> dict[Operation, Operation]:
    """Duplicate ops that dequantize constants, one per reader. Returns the original op of each copy."""
    originals: dict[Operation, Operation] = {}
    for op in list(method.walk()):
        if not isinstance(op, DEQUANTIZE) or not all(isinstance(one.owner, GetOp) for one in op.operands):
            continue
        result = op.results[0]
        readers = list(dict.fromkeys(use.operation for use in result.uses))
        for reader in readers[1:]:
            copy = op.clone()
            copy.location = op.location
            copy.results[0].name_hint = result.name_hint
            assert op.parent is not None
            op.parent.insert_ops_after([copy], op)
            result.replace_uses_with_if(copy.results[0], lambda use, reader=reader: use.operation is reader)
            originals[op] = originals[copy] = op
    return originals


def merge_weights(method: FuncOp, originals: dict[Operation, Operation]) -> None:
    """Merge an op and its copies that are still in the same block into the first of them."""
    first: dict[tuple[Block | None, Operation], Operation] = {}
    for op in list(method.walk()) if originals else ():
        original = originals.get(op)
        if original is None:
            continue
        kept = first.setdefault((op.parent, original), op)
        if kept is not op:
            op.results[0].replace_all_uses_with(kept.results[0])
            op.detach()
            op.erase()
