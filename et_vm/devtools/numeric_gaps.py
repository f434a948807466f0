"""Numeric gaps between a recorded execution and a graph of an ETRecord.

Instructions, and parts of delegates that report values, are matched with the nodes that have their debug handles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.etrecord import EDGE, EXPORTED, ETRecord, RecordedNode, RecordedProgram
from et_vm.devtools.associated_nodes import edge_program
from et_vm.devtools.reference_values import as_tensor, load_tensors, node_values, plain_tensor

if TYPE_CHECKING:
    from et_vm.devtools.comparators import NumericalComparatorBase
    from et_vm.devtools.events import Event

__all__ = ["NumericGap", "numeric_gaps"]

Handles = tuple[int, ...]
NONE: Final = 0
"""The handle of nodes that have none."""


@dataclass(frozen=True)
class NumericGap:
    """A value of an execution, its reference, and the distance between them."""

    aot_debug_handle: Handles
    """The debug handles of the nodes."""
    aot_ops: list[str]
    """The nodes of the graph."""
    aot_intermediate_output: Any
    """The value of the last node: a tensor, a number or a tuple of them."""
    runtime_ops: list[str]
    """The events of the execution."""
    runtime_debug_handle: Handles
    """The debug handles of the events."""
    runtime_intermediate_output: Any
    """The value of the execution."""
    gap: list[float]
    """One distance per result."""
    stacktraces: dict[str, str | None]
    """The Python stack of each node."""


@dataclass
class _Observed:
    """Values computed by events of an execution."""

    order: tuple[int, int]
    """The instruction, and the place among its events."""
    values: list[Any]
    names: list[str]
    results: int
    handles: Handles = ()
    is_reordered: bool = False
    """Whether dimensions may have changed places, as in nodes of XNNPACK."""


def numeric_gaps(
    record: ETRecord,
    events: Sequence[Event],
    comparator: NumericalComparatorBase,
    reference_graph: str | None = None,
    *,
    validated: bool = True,
) -> list[NumericGap]:
    """The gaps of the events of an execution, in the order of the graph.

    The graph is `exported_program`, `edge_dialect_exported_program` or one of the record's others; without a name the
    exported program, unless a handle of the edge program has no node there and that is `validated`.

    Raises `ValueError` for a graph that the record does not have, and for a record without inputs; `ExecutorchError`
    for graphs that torch cannot evaluate, and for inputs that do not fit.
    """
    inputs = load_tensors(record.representative_inputs)
    if inputs is None:
        raise ValueError(
            "the ETRecord has no representative inputs: update_representative_inputs gives it some"
        )
    program, handles = _reference(record, reference_graph, validated=validated)
    nodes: dict[int, list[RecordedNode]] = {}
    values: dict[int, list[Any]] = {}
    for node, value in node_values(program, inputs):
        handle = handles.get(node.name, NONE) if handles is not None else node.handle
        if handle is not None and not node.target.startswith(("_operator.", "torch.sym_")):
            nodes.setdefault(handle, []).append(node)
            values.setdefault(handle, []).append(value)
    mapping: dict[tuple[Handles, Any], tuple[Handles, Any]] = {}
    # Records of this compiler say the order.
    observed = _merged(_observed(events, may_be_reordered=record.operators is None))
    for found, several in observed.items():
        for number in range(several.results):
            # A negative handle is that of a node whose value is written in another shape.
            handle = abs(found[-1 - number]) if number < len(found) else NONE
            if handle in values and handle != NONE:
                pair = _nearest(values[handle], several, number)
                if pair is not None:
                    known = tuple(one for one in found if one > NONE)
                    several.handles = known
                    mapping[known, pair[0]] = known, pair[1]
    return [
        _row(comparator, entry, nodes, {several.handles: several for several in observed.values()})
        for entry in comparator.preprocessing(mapping).items()
        if entry[0][1] is not None and entry[1][1] is not None
    ]


def _reference(
    record: ETRecord, name: str | None, *, validated: bool
) -> tuple[RecordedProgram, Mapping[str, int] | None]:
    """The graph to evaluate, and the handles of its nodes where they are not its own."""
    if name in (None, EXPORTED):
        exported = record.exported_program
        handles = None if exported is None else _propagated(record, exported, validated=validated)
        if exported is not None and handles is not None:
            return exported, handles
        if name is not None:
            raise ValueError(
                "exported_program cannot be the reference: "
                + (
                    "the ETRecord has none"
                    if exported is None
                    else "not every node of the edge program is from it"
                )
            )
    if name in (None, EDGE):
        return edge_program(record)[1], None
    assert name is not None
    found = record.graph_map.get(name if "/" in name else f"{name}/forward")
    if found is None:
        known = ", ".join((EXPORTED, EDGE, *record.graph_map))
        raise ValueError(f"the ETRecord has no graph {name}: {known}")
    return found, None


def _propagated(record: ETRecord, exported: RecordedProgram, *, validated: bool) -> dict[str, int] | None:
    """The handles of the exported graph's nodes, by name: those of the edge nodes that come from them. None where an
    edge node comes from no node of it.
    """
    edge = list(edge_program(record)[1].nodes())
    known: dict[tuple[str, int], int] = {}
    for node in edge:
        for origin in node.origins:
            if node.handle is not None:
                known.setdefault(origin, node.handle)
    found: dict[str, int] = {}
    for node in exported.nodes():
        candidates = [(node.name, record.export_graph_id or 0), *node.origins]
        handle = next((known[one] for one in candidates if one in known), None)
        if handle is not None:
            found[node.name] = handle
    matched = set(found.values())
    if validated and any(node.handle not in matched for node in edge):
        return None
    return found


def _observed(events: Sequence[Event], *, may_be_reordered: bool) -> dict[Handles, _Observed]:
    """The values of the last event of each set of handles; calls of delegates that say the values of their parts have
    none, nor have events that compute no node's.
    """
    told: dict[str | None, set[int]] = {}
    for event in events:
        if event.is_delegated_op and event.op_types and event.debug_data:
            told.setdefault(event.delegate_backend_name, set()).update(_of(event))
    found: dict[Handles, _Observed] = {}
    for place, event in enumerate(events):
        if event.name == "OPERATOR_CALL" or not event.op_types or not event.debug_data:
            continue
        if event.value_order == ():
            continue
        handles = _of(event)
        if event.name == "DELEGATE_CALL" and not told.get(event.delegate_backend_name, set()).isdisjoint(
            handles
        ):
            continue
        order = event.instruction_id, place
        known = found.get(handles)
        if known is None or order > known.order:
            is_of_xnnpack = event.is_delegated_op and event.delegate_backend_name == "XnnpackBackend"
            found[handles] = _Observed(
                order,
                [_in_order(value, event.value_order) for value in event.debug_data],
                [event.name],
                event.num_outputs,
                is_reordered=may_be_reordered and is_of_xnnpack,
            )
    return found


def _in_order(value: Any, order: tuple[int, ...] | None) -> Any:
    """An array whose dimensions are in some order, in that of the program."""
    if order is None or not isinstance(value, np.ndarray) or value.ndim != len(order):
        return cast("Any", value)
    return cast("Any", value).transpose(np.argsort(order))


def _of(event: Event) -> Handles:
    handles = event.debug_handles
    return (handles,) if isinstance(handles, int) else tuple(handles or ())


def _merged(observed: Mapping[Handles, _Observed]) -> dict[Handles, _Observed]:
    """One entry for sets of handles that overlap: the value of the last, whose handles come last."""
    merged: dict[Handles, _Observed] = {}
    for key, value in observed.items():
        handles, entry, names = key, value, list(value.names)
        for other in [one for one in merged if not set(one).isdisjoint(key)]:
            theirs = merged.pop(other)
            first, last = (other, handles) if theirs.order < entry.order else (handles, other)
            entry = entry if theirs.order < entry.order else theirs
            handles = tuple(dict.fromkeys((*(one for one in first if one not in last), *last)))
            names += theirs.names
        merged[handles] = replace(entry, names=names)
    return merged


def _nearest(references: Sequence[Any], observed: _Observed, number: int) -> tuple[Any, Any] | None:
    """A value and the reference that corresponds to it, of those of the nodes with its handle: the last, unless another
    one is near and the last is not. The runtime may compute operators that one call became in another order.
    """
    found = [pair for one in reversed(references) if (pair := _pair(one, observed, number)) is not None]
    return next(filter(_is_near, found), next(iter(found), None))


def _is_near(pair: tuple[Any, Any]) -> bool:
    """Whether tensors are equal but for rounding."""
    return all(
        hasattr(one, "shape")
        and hasattr(other, "shape")
        and _is_like(one, other)
        and float((as_tensor(one) - as_tensor(other)).abs().sum())
        <= _NEAR * float(as_tensor(one).abs().sum())
        for one, other in _elements(*pair)
    )


def _pair(reference: Any, observed: _Observed, number: int) -> tuple[Any, Any] | None:
    """A reference and the value that corresponds to it; None where there is none."""
    values = observed.values
    if isinstance(reference, list | tuple):
        last = values[-1 - number] if number < len(values) else None
        flat = cast("list[Any]", last) if isinstance(last, list) else values
        return _pair_results(
            tuple(cast("Sequence[Any]", reference)), tuple(map(plain_tensor, flat)), observed
        )
    value = values[-1 - number] if number < len(values) else None
    if observed.results == 1 and len(values) > 1 and hasattr(reference, "shape"):
        # An instruction has all results of its operator, and a delegate's call its inputs too.
        fits = [one for one in values if getattr(one, "shape", None) == tuple(reference.shape)]
        if len(fits) > 1:
            name = str(reference.dtype).removeprefix("torch.")
            fits = [one for one in fits if one.dtype.name == name]
        value = fits[0] if len(fits) == 1 else values[-1]
    if value is None or isinstance(value, list):
        return None
    shaped = _in_shape(plain_tensor(value), reference, is_reordered=observed.is_reordered)
    return None if shaped is None else (reference, shaped)


def _pair_results(
    wanted: tuple[Any, ...], values: tuple[Any, ...], observed: _Observed
) -> tuple[Any, Any] | None:
    """The results of an operator and the values that have their shapes: all, or where only one is observed, the result
    of its shape that is nearest to it. A delegate's call has its inputs before its outputs.
    """
    for found in (values, values[-observed.results :]):
        if len(found) == len(wanted) and all(map(_is_like, found, wanted)):
            return wanted, found
    if observed.results != 1 or not values:
        return None
    single = values[-1]
    fits = [one for one in wanted if hasattr(one, "shape") and _is_like(single, one)]
    if not fits:
        return None
    return min(fits, key=lambda one: float((as_tensor(one) - as_tensor(single)).abs().sum())), single


def _is_like(value: Any, reference: Any) -> bool:
    shapes = [getattr(one, "shape", None) for one in (value, reference)]
    return shapes[0] == shapes[1]


def _in_shape(value: Any, reference: Any, *, is_reordered: bool) -> Any:
    """A value in the shape of its reference: one of as many elements is laid out as that, with channels innermost, or
    in another order of dimensions, whichever is nearest. None for another number of elements.
    """
    shape, wanted = getattr(value, "shape", None), getattr(reference, "shape", None)
    if shape is None or wanted is None or (shape == wanted and not is_reordered):
        return value
    if value.numel() != reference.numel():
        return None
    expected = as_tensor(reference)

    def distance(one: Any) -> float:
        return float((as_tensor(one) - expected).abs().sum())

    candidates = [value.reshape(wanted)]
    if distance(candidates[0]) <= _NEAR * float(expected.abs().sum()):
        return candidates[0]
    if len(wanted) == 4 and shape != wanted:
        batch, channels, height, width = wanted
        candidates.append(value.reshape(batch, height, width, channels).permute(0, 3, 1, 2))
    if is_reordered and len(shape) == len(wanted) <= _MOST_PERMUTED:
        orders = permutations(range(len(shape)))
        candidates += [
            value.permute(order) for order in orders if tuple(shape[dim] for dim in order) == tuple(wanted)
        ]
    return min(candidates, key=distance)


_NEAR: Final = 1e-3
"""Part of the sum of a reference's amounts that a value differs by at most where no other layout is looked for."""
_MOST_PERMUTED: Final = 4
"""Dimensions of values, at most, whose other orders are all tried."""


def _row(
    comparator: NumericalComparatorBase,
    entry: tuple[tuple[Handles, Any], tuple[Handles, Any]],
    nodes: Mapping[int, Sequence[RecordedNode]],
    observed: Mapping[Handles, _Observed],
) -> NumericGap:
    (handles, reference), (found, value) = entry
    pairs = list(_elements(reference, value))
    ops = [node for handle in dict.fromkeys(handles) for node in nodes.get(handle, ())]
    known = observed.get(found)
    try:
        gaps = [float(comparator.element_compare(one, other)) for one, other in pairs]
    except RuntimeError as error:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"{', '.join(node.name for node in ops)}: the values cannot be compared: {str(error).splitlines()[0]}",
        ) from error
    return NumericGap(
        handles,
        [node.name for node in ops],
        reference,
        [] if known is None else known.names,
        found,
        value,
        gaps,
        {node.name: node.stack_trace for node in ops},
    )


def _elements(reference: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(reference, tuple):
        yield from zip(cast("tuple[Any, ...]", reference), value, strict=True)
    else:
        yield reference, value
