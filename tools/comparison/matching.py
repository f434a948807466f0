"""Matching of intermediate values: pairs of one program's values and those of its reference.

Where both sides know nodes of the exported graph, values of one node are a pair; else, where both know source lines,
those of one line; else those in one place of the sequence of operators and shapes. Of a node or line that came down to
several ops, the last has its value, as often as it ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, permutations
from typing import Any

import numpy as np

from et_tools.comparison.recording import ObservedValue
from et_vm.devtools.gaps import Gap, bound_for, gap_between

__all__ = ["Pair", "first_difference", "match_values"]

_NCHW = (0, 3, 1, 2)
"""The dimensions of an image, channels innermost, in logical order."""

MOST_PERMUTED = 4
"""Dimensions of values, at most, whose other orders are all tried."""

_NEARER = 4
"""Factor by which a later value has to be nearer if it is not within the bound."""

AHEAD = 12
"""Values of the reference behind a node among which the result of a fused op is looked for."""


@dataclass(frozen=True)
class Pair:
    """A value and its reference."""

    value: ObservedValue
    reference: ObservedValue
    gap: Gap
    bound: float
    """The relative gap that is allowed."""

    @property
    def exceeds(self) -> bool:
        """Whether the gap is beyond its bound."""
        return self.gap.exceeds(self.bound)


def match_values(
    values: Sequence[ObservedValue], reference: Sequence[ObservedValue], bound: float | None = None
) -> tuple[list[Pair], str]:
    """The pairs in the order of execution, and what they were matched by: `node`, `source line` or `order`.

    A value that differs from that of its node, but not from one shortly behind, is of an op that was fused with it, and
    paired with that.
    """
    for by, key in (("node", _node), ("source line", _line)):
        ours = map(_any_node, values) if key is _node else map(bool, map(key, values))
        if any(ours) and any(map(key, reference)):
            found = _by_key(values, reference, key, bound)
            if found:
                return found, by
    return _by_order(values, reference, bound), "order"


def first_difference(
    values: Sequence[ObservedValue], reference: Sequence[ObservedValue], bound: float | None = None
) -> Pair | None:
    """The first pair beyond the bound."""
    return next((pair for pair in match_values(values, reference, bound)[0] if pair.exceeds), None)


def _node(value: ObservedValue) -> str:
    return value.node


def _any_node(value: ObservedValue) -> bool:
    return bool(value.node or value.nodes)


def _line(value: ObservedValue) -> str:
    return value.line


def _fits(value: ObservedValue, reference: ObservedValue) -> bool:
    """Whether two values have one shape, or would have it with channels innermost, and are both integers or both not:
    integers on the grid of a quantized value say nothing without its scale.
    """
    if (np.asarray(value.value).dtype.kind in "iu") != (np.asarray(reference.value).dtype.kind in "iu"):
        return False
    ours, theirs = np.shape(value.value), np.shape(reference.value)
    return ours == theirs or (value.is_reordered and bool(_orders(ours, theirs)))


def _orders(ours: tuple[int, ...], theirs: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Orders of the dimensions of a value in which it has the shape of its reference: channels innermost first."""
    if sorted(ours) != sorted(theirs) or len(ours) > MOST_PERMUTED:
        return []
    several = dict.fromkeys((*([_NCHW] if len(ours) == 4 else []), *permutations(range(len(ours)))))
    return [order for order in several if tuple(ours[dim] for dim in order) == theirs]


def _pair(value: ObservedValue, reference: ObservedValue, bound: float | None) -> Pair:
    allowed = bound_for(np.asarray(reference.value).dtype, bound)
    ours, theirs = value.value, reference.value
    gap = gap_between(ours, theirs) if np.shape(ours) == np.shape(theirs) else None
    if (gap is None or gap.exceeds(allowed)) and value.is_reordered:
        for order in _orders(np.shape(ours), np.shape(theirs)):
            turned = gap_between(np.transpose(ours, order), theirs)
            gap = turned if gap is None or turned.relative < gap.relative else gap
            if not gap.exceeds(allowed):
                break
    return Pair(value, reference, gap or gap_between(ours, theirs), allowed)


def _by_key(
    values: Sequence[ObservedValue],
    reference: Sequence[ObservedValue],
    key: Callable[[ObservedValue], str],
    bound: float | None,
) -> list[Pair]:
    order = {id(value): place for place, value in enumerate(values)}
    places = {id(value): place for place, value in enumerate(reference)}
    known = _grouped(reference, key)
    found: list[Pair] = []
    for group, ours in _grouped(values, key).items():
        for value, other in zip(ours, known.get(group, ()), strict=False):
            if not _fits(value, other):
                continue
            pair = _pair(value, other, bound)
            if pair.exceeds:
                start = places[id(other)] + 1
                pair = _fused(pair, reference[start : start + AHEAD], bound)
            found.append(pair)
    if key is _node:
        found += _of_delegates(values, known, bound)
    return sorted(found, key=lambda pair: order[id(pair.value)])


def _of_delegates(
    values: Sequence[ObservedValue],
    known: dict[tuple[str, int], list[ObservedValue]],
    bound: float | None,
) -> list[Pair]:
    """Outputs of delegates that tell nothing of their nodes, each with the value of the node that is nearest."""
    found: list[Pair] = []
    turns: Counter[object] = Counter()
    for value in values:
        turn = turns[value.step, value.index]
        turns[value.step, value.index] += 1
        candidates = (known.get((node, 0), ())[turn : turn + 1] for node in value.nodes)
        several = [one for turn_values in candidates for one in turn_values if _fits(value, one)]
        pairs = [_pair(value, one, bound) for one in several]
        if pairs:
            found.append(min(pairs, key=lambda pair: pair.gap.relative))
    return found


def _fused(pair: Pair, behind: Sequence[ObservedValue], bound: float | None) -> Pair:
    """The pair with the value behind that is within the bound, or much nearer than that of the node."""
    best = pair
    for other in behind:
        if _fits(pair.value, other):
            found = _pair(pair.value, other, bound)
            if not found.exceeds:
                return found
            best = min(best, found, key=lambda one: one.gap.relative)
    return best if best.gap.relative * _NEARER < pair.gap.relative else pair


def _grouped(
    values: Iterable[ObservedValue], key: Callable[[ObservedValue], str]
) -> dict[tuple[str, int], list[ObservedValue]]:
    """The values of the last op of each key, in the order of execution."""
    found: dict[tuple[str, int], list[ObservedValue]] = {}
    last: dict[tuple[str, int], tuple[int, int]] = {}
    for value in values:
        group = (key(value), value.index)
        if not group[0]:
            continue
        if value.step > last.get(group, (-1, -1)):
            last[group] = value.step
            found[group] = []
        if value.step == last[group]:
            found[group].append(value)
    return found


def _by_order(
    values: Sequence[ObservedValue], reference: Sequence[ObservedValue], bound: float | None
) -> list[Pair]:
    ours, theirs = ([_signature(one) for one in side] for side in (values, reference))
    found: list[Pair] = []
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        pairs = zip(values[block.a :], reference[block.b :], strict=False)
        found += [_pair(value, other, bound) for value, other in islice(pairs, block.size)]
    return found


def _signature(value: ObservedValue) -> Any:
    """The operator without its dialect and overload, shape and element type."""
    array = np.asarray(value.value)
    name = value.operator.rpartition("::")[2] if "::" in value.operator else value.operator.partition(".")[2]
    return name.partition(".")[0].removesuffix("_copy"), array.shape, array.dtype.name
