"""Time, reduced to what matters to a plan: the sets of buffers that are needed at once.

Between two times at which a buffer begins or ends nothing changes. Of these sections those are enough whose set of
buffers is not contained in that of a neighbor: what may not share memory in the others may not share it there
either. Without gaps they are the maximal cliques of an interval graph, of which there are at most as many as
buffers (Fulkerson and Gross, "Incidence matrices and interval graphs", 1965).
"""

from __future__ import annotations

from collections.abc import Sequence

from et_ir.planning.buffer import Buffer

__all__ = ["sections"]


def sections(buffers: Sequence[Buffer]) -> list[frozenset[int]]:
    """Sets of indices of buffers that are needed at once, in the order of time; buffers of no bytes are in none.

    Two buffers are in a common set if and only if they overlap. O(n log n) and the size of the result.
    """
    births: dict[int, list[int]] = {}
    deaths: dict[int, list[int]] = {}
    for index, buffer in enumerate(buffers):
        if buffer.size:
            for first, last in buffer.spans:
                births.setdefault(first, []).append(index)
                deaths.setdefault(last + 1, []).append(index)
    result: list[frozenset[int]] = []
    live: set[int] = set()
    grown = False
    for time in sorted(births.keys() | deaths.keys()):
        ended = deaths.get(time, ())
        if ended and grown:
            # A set is maximal among its neighbors where the last change before an end was a beginning.
            result.append(frozenset(live))
            grown = False
        live.difference_update(ended)
        born = births.get(time, ())
        if born:
            live.update(born)
            grown = True
    return result
