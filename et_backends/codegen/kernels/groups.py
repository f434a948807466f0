"""Groups of rows, each with a matrix of its own: where groups end is read from a tensor when the kernel runs.

Threads share columns, so that each has as much to do however rows are spread over groups, and none waits for
another between groups. Ends that decrease, or are beyond the rows, are reported as an invalid argument of the call;
such a group counts as empty, so that no access is outside of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue

from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.product import Sizes, last_columns
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import count_of

__all__ = ["ends_operand", "of_group", "visit_groups", "with_single_rows"]

_MESSAGE = "grouped::linear: an end of a group is below that before it, or beyond the rows"


def visit_groups(
    b: LoopBuilder,
    sizes: Sizes,
    ends: SSAValue,
    count: Index,
    columns: Index,
    visit: Callable[[Index | None, Index, Index, Index, int, SSAValue | None], None],
) -> None:
    """Visit the rows of each group by groups of columns: by the number of the matrix, the first row and the end of the
    rows, the first column, how many there are, and a mask of them. `ends` are those of groups, of `count` rows. Rows
    behind the last group have no matrix: its number is None.
    """
    width = sizes.tile_columns
    whole = b.floordiv(columns, width)
    with b.part(b.ceildiv(columns, width)) as (first, last, _):

        def rows(number: Index | None, start: Index, end: Index) -> None:
            with b.for_(first, b.min(last, whole)) as loop:
                visit(number, start, end, b.mul(loop.index, width), width, None)
            assert isinstance(sizes.columns, int)
            if sizes.columns % width:
                with b.if_(b.both(b.below(first, last), b.below(whole, last))):
                    at = b.mul(whole, width)
                    last_columns(
                        b,
                        sizes,
                        columns,
                        at,
                        lambda at, some, mask: visit(number, start, end, at, some, mask),
                    )

        with b.for_(0, b.dim(ends, 0), 1, [b.index(0)]) as loop:
            start = loop.args[0]
            end = _end(b, ends, loop.index, start, count)
            with b.if_(b.below(start, end)):
                rows(loop.index, start, end)
            loop.next = [b.index(end)]
        with b.if_(b.below(loop.results[0], count)):
            rows(None, loop.results[0], count)


def _end(b: LoopBuilder, ends: SSAValue, number: Index, start: Index, count: Index) -> Index:
    """The end of a group that starts at a row: its start where what is given is none."""
    given = b.element(ends, [number])
    if memref_type(ends).element_type != i64:
        given = b.value(arith.ExtSIOp(given, i64))
    # Compared as they are given: an index may have 32 bits.
    least, most = b.to_i64(start), b.to_i64(count)
    below, beyond = (
        b.value(arith.CmpiOp(one, other, "slt")) for one, other in ((given, least), (most, given))
    )
    wrong = b.value(arith.OrIOp(below, beyond))
    b.check(wrong, _MESSAGE)
    return b.choose(wrong, start, b.value(arith.IndexCastOp(given, IndexType())))


def ends_operand(host: Host, value: SSAValue) -> Operand:
    """Where groups end, as a kernel takes it."""
    return Operand(host.buffer(value), [count_of(value)])


def of_group(b: LoopBuilder, panels: SSAValue, groups: Index, number: Index) -> SSAValue:
    """The panels of one of as many matrices as there are groups."""
    each = b.quotient(b.dim(panels, 0), groups)
    return b.rows(panels, b.mul(number, each), each)


def with_single_rows(sizes: Sizes, groups: int) -> Sizes:
    """Tiles of one panel where most groups have a single row or none, which is read in one stream then."""
    return replace(sizes, tile_columns=sizes.panel) if sizes.most_rows <= groups else sizes
