"""Association of events with the nodes of an ETRecord's graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from et_schema.errors import InvalidFile
from et_schema.etrecord import ETRecord, RecordedNode, RecordedProgram
from et_vm.devtools.torch_modules import load_torch_module

if TYPE_CHECKING:
    from et_vm.devtools.events import Event, EventBlock

__all__ = ["associate", "edge_program"]

_RUNTIME: Final = ("Method::init", "Program::load_method", "Method::execute")
_CALL: Final = "native_call_"
_DELEGATE: Final = "DELEGATE_CALL"


def edge_program(record: ETRecord, where: str = "the ETRecord") -> tuple[str, RecordedProgram]:
    """The method that events are taken to be of, `forward` or the only one, and its edge program.

    Raises `InvalidFile` for a record of several other methods, or none.
    """
    programs = record.edge_dialect_program
    name = "forward" if "forward" in programs or len(programs) != 1 else next(iter(programs))
    if name not in programs:
        names = ", ".join(programs) or "it has none"
        raise InvalidFile(f"the ETRecord has no method forward: {names}", where=where)
    return name, programs[name]


def associate(blocks: Sequence[EventBlock], record: ETRecord, graph: str, where: str) -> None:
    """Attach debug handles to events, with the operators, stacks and modules of the nodes that have these handles, and
    expected outputs to the blocks of test cases.

    Raises `InvalidFile` for the record of another program or of other methods, `ValueError` for a graph that it does
    not have.
    """
    method, program = edge_program(record, where)
    if graph not in ("edge_dialect_graph_module", "edge_dialect_exported_program"):
        found = record.graph_map.get(graph if "/" in graph else f"{graph}/{method}")
        if found is None:
            known = ", ".join(("edge_dialect_graph_module", *record.graph_map))
            raise ValueError(f"the ETRecord has no graph {graph}: {known}")
        program = found
    if record.debug_handle_map is None or method not in record.debug_handle_map:
        raise InvalidFile(f"the ETRecord has no debug handles of {method}", where=where)
    handles: Mapping[str, Any] = record.debug_handle_map[method]
    delegates: Mapping[str, Any] = (record.delegate_map or {}).get(method, {})
    results = (record.instruction_id_to_num_outs_map or {}).get(method, {})
    nodes: dict[int, list[RecordedNode]] = {}
    for node in program.nodes():
        if node.handle is not None:
            nodes.setdefault(node.handle, []).append(node)
    events = [event for block in blocks for event in block.events if event.name not in _RUNTIME]
    operators = (record.operators or {}).get(method)
    if operators is not None:
        _check_operators(events, operators, delegates, where)
    else:
        _check_kinds(events, delegates, handles, nodes, where)
    for event in events:
        key = str(event.instruction_id)
        if key in handles:
            event.num_outputs = results.get(key, 1)
            event.debug_handles = _handles(event, handles[key], delegates.get(key))
            event.value_order = _order(event, delegates.get(key))
            _describe(event, nodes)
    expected = (
        _reference_outputs(record, method) if any(b.bundled_input_index is not None for b in blocks) else []
    )
    for block in blocks:
        if block.bundled_input_index is not None and block.bundled_input_index < len(expected):
            block.reference_output = expected[block.bundled_input_index]


def _handles(event: Event, whole: Any, delegate: Mapping[str, Any] | None) -> Any:
    """The handles of an event: of a part of a delegate those of its identifier, none for an unknown identifier; else
    those of the instruction.
    """
    if delegate is None:
        return whole
    if event.name == _DELEGATE or event.is_delegated_op:
        event.delegate_backend_name = str(delegate.get("name", ""))
    if not event.is_delegated_op:
        return whole
    parts: Mapping[str, Any] = delegate.get("delegate_map") or {}
    return parts.get(str(event.delegate_debug_identifier))


def _order(event: Event, delegate: Mapping[str, Any] | None) -> tuple[int, ...] | None:
    """The order of dimensions of an event's values where it is not that of the nodes."""
    if delegate is None or not event.is_delegated_op:
        return None
    orders: Mapping[str, Sequence[int]] = delegate.get("orders") or {}
    found = orders.get(str(event.delegate_debug_identifier))
    return None if found is None else tuple(found)


def _describe(event: Event, nodes: Mapping[int, Sequence[RecordedNode]]) -> None:
    handles = event.debug_handles
    for handle in [handles] if isinstance(handles, int) else handles or ():
        for node in nodes.get(handle, ()):
            name = f"{node.name}_"  # as upstream's tools write names
            if name not in event.stack_traces:
                event.stack_traces[name] = node.stack_trace
                event.module_hierarchy[name] = node.modules
            event.op_types.append(node.operator)


def _reference_outputs(record: ETRecord, method: str) -> list[Any]:
    if not record.reference_outputs:
        return []
    load_tensors = load_torch_module("reference_values").load_tensors
    found: Mapping[str, list[Any]] = load_tensors(record.reference_outputs) or {}
    return found.get(method, [])


def _check_operators(
    events: Sequence[Event], operators: Mapping[str, str], delegates: Mapping[str, Any], where: str
) -> None:
    """Compare the operators of instructions."""
    for event in events:
        key = str(event.instruction_id)
        if event.is_delegated_op or event.instruction_id < 0:
            continue
        if event.name == _DELEGATE and key not in delegates:
            raise _foreign(event, f"calls {operators[key]}" if key in operators else "does not exist", where)
        if event.name.startswith(_CALL):
            said = operators.get(key)
            if said is None or said.rpartition("::")[2] != event.name.removeprefix(_CALL):
                raise _foreign(event, "does not exist" if said is None else f"calls {said}", where)


def _check_kinds(
    events: Sequence[Event],
    delegates: Mapping[str, Any],
    handles: Mapping[str, Any],
    nodes: Mapping[int, Sequence[RecordedNode]],
    where: str,
) -> None:
    """Compare which instructions call delegates, and whether most others call what is in the graph; files of ExecuTorch
    do not say more.
    """
    calls = 0
    wrong: list[Event] = []
    for event in events:
        key = str(event.instruction_id)
        if event.is_delegated_op or event.instruction_id < 0:
            continue
        if (event.name == _DELEGATE) != (key in delegates) and event.name.startswith((_DELEGATE, _CALL)):
            raise _foreign(event, "calls a delegate" if key in delegates else "calls none", where)
        if event.name.startswith(_CALL) and key in handles:
            several = handles[key] if isinstance(handles[key], list) else [handles[key]]
            base = event.name.removeprefix(_CALL).partition(".")[0]
            known = {node.target.split(".")[-2] for handle in several for node in nodes.get(handle, ())}
            calls += 1
            if known and base not in known:
                wrong.append(event)
    if wrong and 2 * len(wrong) > calls:
        raise _foreign(wrong[0], "calls another operator", where)


def _foreign(event: Event, found: str, where: str) -> InvalidFile:
    called = "a delegate" if event.name == _DELEGATE else event.name.removeprefix(_CALL)
    return InvalidFile(
        f"the ETRecord is of another program: instruction {event.instruction_id} has called {called}, there it {found}",
        where=where,
        hint="give the one that was written when this program was compiled",
    )
