"""ETRecords of compiled programs."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.analysis.constant_methods import is_constant_method
from et_ir.dialects.executorch import KernelCallOp, PlanOp
from et_ir.dialects.program import GlobalOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.emit.debug_handles import DebugHandles, Origin, instructions_of
from et_ir.etrecord.programs import recorded_program
from et_schema import etrecord
from et_schema.etrecord import RecordedNode, RecordedProgram

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from et_ir.etrecord.snapshot import Snapshot

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]

_EXPORTED_GRAPH = 1
"""The number of the exported graph in the records written here."""


class LoweredProgram(Protocol):
    """A program at some level: an `EdgeProgramManager`, or an `ExecutorchProgramManager`."""

    @property
    def module(self) -> ModuleOp:
        """Its module."""
        ...


class ETRecord(etrecord.ETRecord):
    """An ETRecord built from modules: `et.get_etrecord()` returns that of a program, `save` writes it.

    Programs are added once, edge programs before compiled ones; `ValueError` else.
    """

    @classmethod
    def of(cls, snapshot: Snapshot, module: ModuleOp) -> ETRecord:
        """The record of a compiled program, a module of the executorch level, from its modules at earlier levels.

        Raises `NotRecordable` for control flow, and for anything else that the format cannot represent.
        """
        record = cls()
        handles = DebugHandles(module)
        if "aten" in snapshot.modules:
            record._add_exported(snapshot.modules["aten"])
        record._add_edge(snapshot.modules["edge"], handles)
        record._add_compiled(handles, module)
        if snapshot.inputs is not None:
            record.update_representative_inputs(snapshot.inputs)
        return record

    def _add_exported(self, module: ModuleOp) -> None:
        methods = _methods(module)
        if "forward" in methods:
            self.exported_program = recorded_program(methods["forward"], _symbols(module))
            self.export_graph_id = _EXPORTED_GRAPH

    def _add_edge(self, module: ModuleOp, handles: DebugHandles) -> None:
        symbols = _symbols(module)
        self.edge_dialect_program = {
            name: recorded_program(
                method, symbols, lambda location, name=name: handles.of(name, location), self.export_graph_id
            )
            for name, method in _methods(module).items()
        }

    def _add_compiled(self, handles: DebugHandles, module: ModuleOp) -> None:
        self.debug_handle_map, self.delegate_map, self.operators = {}, {}, {}
        self.instruction_id_to_num_outs_map = {}
        plans = {op.key: instructions_of(op) for op in module.body.block.ops if isinstance(op, PlanOp)}
        for method, rows in handles.origins.items():
            if method not in self.edge_dialect_program:
                continue
            program = self.edge_dialect_program[method]
            places = _last_places(program)
            exported = self.exported_program if method == "forward" else None
            reshaped = _without_value(program, exported, rows, plans[method])
            inside = handles.delegates[method]
            ordered = {
                at: sorted(several, key=lambda one: places.get(one, -1)) for at, several in inside.items()
            }
            found: dict[str, int | list[int]] = {}
            for row in rows:
                several = ordered.get(row.instruction, reshaped.get(row.instruction, row.handle))
                if several is not None:
                    found[str(row.instruction)] = several
            self.debug_handle_map[method] = found
            self.delegate_map[method] = {
                str(row.instruction): _delegate(row) for row in rows if row.instruction in ordered
            }
            self.operators[method] = {str(row.instruction): row.operator for row in rows}
            self.instruction_id_to_num_outs_map[method] = {str(at): 1 for at in ordered}

    # -- what users add

    def add_exported_program(
        self, exported_program: ExportedProgram | Mapping[str, ExportedProgram] | None
    ) -> None:
        """Add the program that was exported, of several methods `forward`."""
        if self.exported_program is not None:
            raise ValueError("the ETRecord has an exported program already")
        if exported_program is not None:
            from et_ir.frontend import import_program

            self._add_exported(import_program(exported_program))

    def add_edge_dialect_program(self, edge_dialect_program: LoweredProgram) -> None:
        """Add a program of the edge level, before it is delegated, with the handles of its own nodes."""
        if self.edge_dialect_program:
            raise ValueError("the ETRecord has an edge program already")
        self._edge_module = edge_dialect_program.module
        self._add_edge(self._edge_module, DebugHandles(ModuleOp([])))

    def add_executorch_program(self, executorch_program: LoweredProgram) -> None:
        """Add a compiled program. The edge program, which has to be there, gets its handles."""
        if self.debug_handle_map is not None:
            raise ValueError("the ETRecord has a compiled program already")
        module: ModuleOp | None = getattr(self, "_edge_module", None)
        if module is None:
            raise ValueError("add the edge program before the compiled one")
        handles = DebugHandles(executorch_program.module)
        self._add_edge(module, handles)
        self._add_compiled(handles, executorch_program.module)

    def add_extra_export_modules(
        self, extra_recorded_export_modules: Mapping[str, ExportedProgram | LoweredProgram]
    ) -> None:
        """Add programs under names of their own; `ValueError` for a name that the format reserves."""
        from et_ir.frontend import import_program

        for name, program in extra_recorded_export_modules.items():
            if any(reserved in name for reserved in (*etrecord.RESERVED, etrecord.EDGE, etrecord.EXPORTED)):
                raise ValueError(f"the name {name!r} is reserved in ETRecords")
            found: object = program.module
            is_edge = isinstance(found, ModuleOp)
            module = (
                found if isinstance(found, ModuleOp) else import_program(cast("ExportedProgram", program))
            )
            numbers = DebugHandles(ModuleOp([]))
            for method, function in _methods(module).items():

                def handle(
                    location: LocationAttr, method: str = method, numbers: DebugHandles = numbers
                ) -> int:
                    return numbers.of(method, location)

                made = recorded_program(function, _symbols(module), handle if is_edge else None)
                self.graph_map[f"{name}/{method}"] = made

    def update_representative_inputs(self, representative_inputs: Sequence[Any]) -> None:
        """Give the inputs of `forward`, flat, with which numeric gaps are computed: tensors, arrays and numbers."""
        self.representative_inputs = _saved([_as_tensor(one) for one in representative_inputs])

    def update_reference_outputs(
        self, reference_outputs: Mapping[str, Sequence[Any]] | Sequence[Any]
    ) -> None:
        """Give the expected outputs of test cases, by method or for `forward`: a list of lists."""
        named = (
            reference_outputs if isinstance(reference_outputs, Mapping) else {"forward": reference_outputs}
        )
        self.reference_outputs = _saved(
            {
                method: [[_as_tensor(one) for one in cast("Sequence[Any]", case)] for case in cases]
                for method, cases in named.items()
            }
        )


def generate_etrecord(
    et_record: str | os.PathLike[str] | IO[bytes],
    edge_dialect_program: LoweredProgram,
    executorch_program: LoweredProgram,
    exported_program: ExportedProgram | Mapping[str, ExportedProgram] | None = None,
    extra_recorded_export_modules: Mapping[str, ExportedProgram | LoweredProgram] | None = None,
) -> None:
    """Write the ETRecord of a program from its stages. The edge program is the one before delegation.

    Raises `NotRecordable` for control flow, and for anything else that the format cannot represent; `OSError`.
    """
    record = ETRecord()
    record.add_exported_program(exported_program)
    record.add_edge_dialect_program(edge_dialect_program)
    record.add_executorch_program(executorch_program)
    record.add_extra_export_modules(extra_recorded_export_modules or {})
    record.save(et_record)


def parse_etrecord(etrecord_path: str | os.PathLike[str]) -> ETRecord:
    """Read an ETRecord written by this compiler or by ExecuTorch.

    Raises `InvalidFile` for a file that is none, or a damaged one, `ExecutorchError(AccessFailed)` for one that cannot
    be read.
    """
    found = etrecord.read_etrecord(etrecord_path)
    return ETRecord(**{one.name: getattr(found, one.name) for one in fields(found)})


def _methods(module: ModuleOp) -> dict[str, FuncOp]:
    """The methods that compute something: not those that return constants."""
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, FuncOp) and not is_constant_method(op)
    }


def _symbols(module: ModuleOp) -> dict[str, GlobalOp]:
    return {op.key: op for op in module.body.block.ops if isinstance(op, GlobalOp)}


def _last_places(program: RecordedProgram) -> dict[int, int]:
    """The place of the last node of each handle."""
    return {node.handle: place for place, node in enumerate(program.nodes()) if node.handle is not None}


def _without_value(
    program: RecordedProgram,
    exported: RecordedProgram | None,
    rows: Sequence[Origin],
    instructions: Sequence[Operation],
) -> dict[int, list[int]]:
    """Handles of instructions that are the last with a handle and write the value of its last node in another shape, or
    that of another node: a negative one comes after that of the node, for which upstream's tools find no value to
    compare, and fail to compare no others.
    """
    original: dict[str, set[_Shape]] = {}
    if exported is not None:
        original = {one.name: _shapes(exported, one) for one in exported.nodes()}
    shapes: dict[int, set[_Shape]] = {}
    names: dict[int, list[str]] = {}
    before: dict[int, set[_Shape]] = {}
    for node in program.nodes():
        if node.handle is not None:
            shapes[node.handle] = _shapes(program, node)
            names.setdefault(node.handle, []).append(_base(node.operator))
            origins = [original[name] for name, _ in node.origins if name in original]
            before[node.handle] = origins[0] if origins else set[_Shape]()
    last = {row.handle: row.instruction for row in rows if row.handle is not None}
    found: dict[int, list[int]] = {}
    for handle, instruction in last.items():
        op = instructions[instruction]
        if not isinstance(op, KernelCallOp) or handle not in shapes:
            continue
        written = {
            tuple(size if size >= 0 else None for size in out.type.get_shape())
            for out in op.outs
            if is_tensor(out.type)
        }
        called = _base(op.key.replace("::", "."))
        is_another = called in names[handle] and called != names[handle][-1]
        if (
            is_another
            or written.isdisjoint(shapes[handle])
            or (before[handle] and written.isdisjoint(before[handle]))
        ):
            found[instruction] = [handle, -handle]
    return found


_Shape = tuple[int | None, ...]


def _base(operator: str) -> str:
    """The operator's name without its overload, which an out variant does not share."""
    return operator.split(".")[1]


def _shapes(program: RecordedProgram, node: RecordedNode) -> set[_Shape]:
    """The shapes of a node's results; None for sizes known at run time only."""
    values = program.graph["tensor_values"]
    names = [name for one in node.raw["outputs"] for name in _tensor_names(one)]
    return {tuple(size.get("as_int") for size in values[name]["sizes"]) for name in names}


def _tensor_names(output: dict[str, Any]) -> list[str]:
    if "as_tensor" in output:
        return [output["as_tensor"]["name"]]
    return [one["name"] for one in output.get("as_tensors", ())]


def _delegate(row: Origin) -> dict[str, Any]:
    """The backend, and the handles by its identifiers, shorter ones first: upstream's tools take the last one whose
    text is in that of an event. Behind those of an identifier whose value is not as in the program comes a negative
    one, as in `_without_value`, and our tools find the order of its dimensions.
    """
    if row.delegate is None:
        return {"name": row.operator, "delegate_map": {}}
    places, orders = row.delegate.places, row.delegate.orders
    handles = {
        key: [one.handle for one in several if one.handle is not None]
        for key, several in sorted(places.items(), key=lambda item: (len(item[0]), item[0]))
    }
    for key in orders:
        handles[key] += [-handle for handle in handles[key][-1:]]
    return {
        "name": row.delegate.backend,
        "delegate_map": handles,
        **({"orders": {key: list(order) for key, order in orders.items()}} if orders else {}),
    }


def _as_tensor(value: Any) -> Any:
    import numpy as np
    import torch

    return torch.as_tensor(value) if isinstance(value, np.ndarray) else value


def _saved(value: Any) -> bytes:
    import torch

    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()
