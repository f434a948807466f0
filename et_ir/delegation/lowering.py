"""From partitions to what backends make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from et_ir.analysis.bounds import SizeBounds
from et_ir.data import Blob, MissingData
from et_ir.delegation.cached_results import cached_results
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataConflict, NamedDataStore
from et_ir.delegation.specs import CompileSpec
from et_ir.delegation.subprogram import FORWARD, state_bounds, subprogram
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import CallOp, LoweredOp, NamedDataOp, PartitionOp
from et_ir.dialects.executorch.attributes import DATA_FILE
from et_ir.dialects.program import DataAttr, Globals, StoreOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_schema.diagnostics import Report
from et_schema.user_code import raised

__all__ = ["BackendFailed", "lower_partitions"]

_Details = Callable[[str], type[BackendDetails]]


class BackendFailed(PassReport):
    """A backend could not compile partitions; the program is as it was."""

    def __init__(
        self, title: str, diagnostics: Iterable[Diagnostic], partitions: Sequence[PartitionOp] = ()
    ) -> None:
        super().__init__(title, diagnostics)
        self.partitions = partitions
        """The partitions that could not be compiled; none if it is not about single ones."""


def lower_partitions(module: ModuleOp, details_of: _Details) -> None:
    """Have backends compile all partitions of a module: each becomes a `backend.call` of a `backend.lowered` symbol.

    `details_of` gives the compiler of a backend id. Nothing changes before all partitions are compiled. Raises
    what `details_of` raises, and `BackendFailed` for what a backend raises, or returns that is no result.
    """
    found = _partitions(module)
    if not found:
        return
    backends = {one.backend.data: details_of(one.backend.data) for ones in found.values() for one in ones}
    results: dict[PartitionOp, PreprocessResult] = {}
    for backend_id, details in backends.items():
        chosen = {
            method: [one for one in ones if one.backend.data == backend_id] for method, ones in found.items()
        }
        results.update(_preprocess(module, details, {m: ones for m, ones in chosen.items() if ones}))
    store = _named_data(module, results)
    owned = _owned_state(found)
    _replace(module, found, results)
    _replace_named_data(module, store)
    _drop_unused(module, owned)


def _partitions(module: ModuleOp) -> dict[str, list[PartitionOp]]:
    """The partitions by method, in program order, those in branches and loops too."""
    found: dict[str, list[PartitionOp]] = {}
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            ones = [op for op in function.walk() if isinstance(op, PartitionOp)]
            if ones:
                found[function.sym_name.data] = ones
    return found


def _preprocess(
    module: ModuleOp, details: type[BackendDetails], partitions: Mapping[str, Sequence[PartitionOp]]
) -> dict[PartitionOp, PreprocessResult]:
    """Results of a backend for its partitions."""
    symbols = Globals(module)
    bounds = {name: SizeBounds(_method(ones[0]).body.block) for name, ones in partitions.items()}
    programs = {
        method: [subprogram(one, symbols, bounds[method]) for one in ones]
        for method, ones in partitions.items()
    }
    specs = {method: [_specs(one) for one in ones] for method, ones in partitions.items()}
    everything = [one for ones in partitions.values() for one in ones]
    default = BackendDetails.__dict__["preprocess_multimethod"].__func__
    if details.preprocess_multimethod.__func__ is default:
        # One by one, so that a report names the partition.
        made: dict[str, Sequence[PreprocessResult]] = _each(details, partitions, programs, specs)
    else:
        together = partial(details.preprocess_multimethod, programs, specs)
        made = dict(_guarded(details, everything, lambda: cached_results(details, programs, specs, together)))
    results = _checked(details, partitions, made)
    if len(results) == 1:
        return results
    made = {method: [results[one] for one in ones] for method, ones in partitions.items()}
    return _checked(details, partitions, _guarded(details, everything, lambda: details.share_data(made)))


def _checked(
    details: type[BackendDetails],
    partitions: Mapping[str, Sequence[PartitionOp]],
    made: Mapping[str, Sequence[PreprocessResult]],
) -> dict[PartitionOp, PreprocessResult]:
    """Results by partition. Raises `BackendFailed` where there is not one for each."""
    results: dict[PartitionOp, PreprocessResult] = {}
    for method, ones in partitions.items():
        given = made.get(method, ())
        if len(given) != len(ones):
            message = f"returned {len(given)} results for the {len(ones)} partitions of method '{method}'"
            raise _failed(details, ones, message)
        for one, result in zip(ones, given, strict=True):
            if not isinstance(cast(object, result), PreprocessResult):
                raise _failed(details, [one], f"returned {type(result).__name__}, not a PreprocessResult")
            results[one] = result
    return results


def _each(
    details: type[BackendDetails],
    partitions: Mapping[str, Sequence[PartitionOp]],
    programs: Mapping[str, Sequence[ModuleOp]],
    specs: Mapping[str, Sequence[list[CompileSpec]]],
) -> dict[str, Sequence[PreprocessResult]]:
    """Results of a backend that compiles one partition at a time. Raises `BackendFailed` for all that it cannot."""
    made: dict[str, Sequence[PreprocessResult]] = {}
    failures: list[BackendFailed] = []
    for method, ones in partitions.items():
        results: list[PreprocessResult] = []
        for one, program, spec in zip(ones, programs[method], specs[method], strict=True):
            try:
                results.append(_guarded(details, [one], partial(_single, details, program, spec)))
            except BackendFailed as error:
                failures.append(error)
        made[method] = results
    if failures:
        raise BackendFailed(
            failures[0].title,
            [finding for error in failures for finding in error.diagnostics],
            [one for error in failures for one in error.partitions],
        ) from failures[0].__cause__
    return made


def _single(details: type[BackendDetails], program: ModuleOp, specs: list[CompileSpec]) -> PreprocessResult:
    """Result for one partition."""
    made = cached_results(
        details,
        {FORWARD: [program]},
        {FORWARD: [specs]},
        lambda: {FORWARD: [details.preprocess(program, specs)]},
    )
    return made[FORWARD][0]


def _guarded(details: type[BackendDetails], ones: Sequence[PartitionOp], call: Callable[[], Any]) -> Any:
    """Result of a backend. Raises `BackendFailed` for what it raises."""
    try:
        return call()
    except MissingData:
        raise
    except (Exception, SystemExit) as error:
        text = f"{raised(error)}"
        if isinstance(error, Report):
            text = "\n".join(str(replace(inner, fix="")) for inner in error.diagnostics)
        raise _failed(details, ones, text) from error


def _failed(details: type[BackendDetails], ones: Sequence[PartitionOp], text: str) -> BackendFailed:
    fix = "compile without the backend, or exclude the ops that it cannot compile"
    message = f"the backend '{details.backend_id}' cannot compile it: {text}"
    return BackendFailed("partitions cannot be lowered", [diagnose(one, message, fix) for one in ones], ones)


def _method(partition: PartitionOp) -> FuncOp:
    at = partition.parent_op()
    while not isinstance(at, FuncOp):
        assert at is not None
        at = at.parent_op()
    return at


def _specs(partition: PartitionOp) -> list[CompileSpec]:
    specs = () if partition.specs is None else partition.specs
    return [CompileSpec(spec.key.data, spec.value.data) for spec in specs]


def _named_data(module: ModuleOp, results: Mapping[PartitionOp, PreprocessResult]) -> NamedDataStore:
    """Named data of the module and of its backends."""
    store = NamedDataStore()
    for op in module.body.block.ops:
        if isinstance(op, NamedDataOp):
            file = op.attributes.get(DATA_FILE)
            store.add_named_data(
                op.key,
                op.value.blob,
                1 if op.alignment is None else op.alignment.value.data,
                file.data if isinstance(file, StringAttr) else None,
            )
    for partition, result in results.items():
        if result.data_store_output is not None:
            try:
                store.merge_named_data_store(result.data_store_output)
            except (NamedDataConflict, ValueError) as error:
                message = f"the backend '{partition.backend.data}' adds invalid named data: {error}"
                finding = diagnose(partition, message, "name data by a hash of its content")
                raise BackendFailed("partitions cannot be lowered", [finding]) from error
    return store


def _data(blob: Blob) -> DataAttr:
    return DataAttr.of(ELEMENT_TYPES["ui8"], blob)


def _replace(
    module: ModuleOp,
    found: Mapping[str, Sequence[PartitionOp]],
    results: Mapping[PartitionOp, PreprocessResult],
) -> None:
    """Put symbols and calls into the place of partitions."""
    taken = {op.key for op in module.body.block.ops if isinstance(op, LoweredOp)}
    bounds = {method: SizeBounds(_method(ones[0]).body.block) for method, ones in found.items()}
    for method, ones in found.items():
        function = _method(ones[0])
        for partition in ones:
            number = 0
            while (name := f"lowered_{number}") in taken:
                number += 1
            taken.add(name)
            result = results[partition]
            processed = result.processed_bytes
            blob = processed if isinstance(processed, Blob) else Blob.of(name, processed)
            handles = _handles(result.debug_handle_map)
            lowered = LoweredOp(
                name,
                partition.backend.data,
                (*(partition.specs or ()), *(spec.attribute for spec in result.compile_specs)),
                _data(blob),
                debug_handles=handles,
                debug_orders={str(key): order for key, order in result.debug_orders.items()},
                alignment=result.alignment,
                updates=result.updates,
            )
            call = CallOp(name, list(partition.inputs), [output.type for output in partition.outputs])
            call.location = partition.location
            lowered.location = _whole_location(partition)
            module.body.block.insert_op_before(lowered, function)
            block = partition.parent_block()
            assert block is not None
            block.insert_op_before(call, partition)
            for old, new in zip(partition.outputs, call.outputs, strict=True):
                new.name_hint = old.name_hint
                state_bounds(bounds[method], old, new, block, partition, partition)
                old.replace_all_uses_with(new)
            block.erase_op(partition)


def _whole_location(partition: PartitionOp) -> LocationAttr:
    """The locations of all ops of a partition, its own first: what a backend fuses has no identifier of its own."""
    locations = dict.fromkeys((partition.location, *(op.location for op in partition.walk())))
    known = tuple(one for one in locations if one != UNKNOWN_LOC)
    return FusedLoc(known, NoneAttr()) if len(known) > 1 else (*known, UNKNOWN_LOC)[0]


def _handles(mapping: Mapping[int | str, Sequence[LocationAttr]]) -> DictionaryAttr | None:
    """The debug handle map in the IR: what each identifier stands for, as locations."""
    if not mapping:
        return None
    entries: dict[str, Attribute] = {str(key): ArrayAttr(locations) for key, locations in mapping.items()}
    return DictionaryAttr(entries)


def _replace_named_data(module: ModuleOp, store: NamedDataStore) -> None:
    for op in [op for op in module.body.block.ops if isinstance(op, NamedDataOp)]:
        module.body.block.erase_op(op)
    output = store.get_named_data_store_output()
    first = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    for file, entries in ((None, output.pte_data), *output.external_data.items()):
        for key, entry in entries.items():
            data = NamedDataOp(key, _data(output.buffers[entry.buffer_index]), alignment=entry.alignment)
            if file is not None:
                data.attributes[DATA_FILE] = StringAttr(file)
            module.body.block.insert_op_before(data, first)


def _owned_state(found: Mapping[str, Sequence[PartitionOp]]) -> set[str]:
    """The mutable buffers that partitions own."""
    return {
        op.symbol.string_value()
        for ones in found.values()
        for one in ones
        for op in one.walk()
        if isinstance(op, StoreOp)
    }


def _drop_unused(module: ModuleOp, owned: set[str]) -> None:
    """Drop the constants that only partitions read, and the buffers that they own."""
    symbols = Globals(module)
    for name in owned:
        module.body.block.erase_op(symbols.by_name.pop(name))
    Globals(module).drop_unused()
