"""Patterns of integer ops for targets that do not compute with floats."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.integer_operations import results_of
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.dialects.schema import SchemaOp

__all__ = ["integer_patterns", "separate_dequantizes"]


def separate_dequantizes(method: FuncOp) -> None:
    """Give each use of a restored value a dequantize of its own: one op may go to a backend and another stay."""
    for op in list(method.walk()):
        if not isinstance(op, DEQUANTIZE):
            continue
        for use in list(op.results[0].uses)[1:]:
            copy = op.clone()
            copy.location = op.location
            parent = op.parent
            assert parent is not None
            parent.insert_op_after(copy, op)
            use.operation.operands[use.index] = copy.results[0]


def integer_patterns(method: FuncOp, is_taken: Callable[[SchemaOp], bool]) -> list[list[Operation]]:
    """For each op that `is_taken`, what has to go together: the op, dequantizes of its operands, its activation, and
    the quantizes of its result, in the order of the method.
    """
    order = {op: number for number, op in enumerate(method.walk())}
    patterns: list[list[Operation]] = []
    for op in order:
        if not isinstance(op, SchemaOp) or not is_taken(op):
            continue
        results = results_of(op)
        around = [value.owner for value in (*op.operands, *results)]
        around += [use.operation for result in results for use in result.uses]
        ends = {result.owner for result in results}
        chosen = {one for one in around if isinstance(one, (*DEQUANTIZE, *QUANTIZE)) or one in ends}
        patterns.append(
            sorted((one for one in {op, *chosen} if isinstance(one, Operation)), key=order.__getitem__)
        )
    return patterns
