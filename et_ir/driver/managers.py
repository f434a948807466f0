"""The compiler from Python, under the names that users of ExecuTorch know.

    edge = to_edge(torch.export.export(model, args))     # or {"method": exported_program, …}
    et = edge.to_executorch()
    et.save("model.pte")

`edge.module` and `et.module` are the xDSL modules. Lowering never changes the module it starts from: every step
works on a copy, so a manager can be lowered twice, with different options.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from io import TextIOBase
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Never, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.analysis.constant_methods import is_constant_method, methods_of
from et_ir.analysis.op_counts import count_ops, ops_in_words
from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.display import install_formatters, module_html, shortened
from et_ir.driver.method_passes import MethodPasses, TransformPass, method_module
from et_ir.driver.observer import Observers
from et_ir.driver.pipelines import backend_passes, edge_passes, split_preserved
from et_ir.driver.stages import (
    backend_stage,
    edge_stages,
    executorch_stage,
    import_faults,
    quiet_collector,
    run_passes,
    run_stages,
)
from et_schema.call_errors import called_as
from et_schema.diagnostics import did_you_mean
from et_schema.files import atomic_files, atomic_writer
from et_schema.ptd import is_ptd

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from et_ir.backends import DelegationReport, KeptOperators, Partitioners
    from et_ir.etrecord import ETRecord, Snapshot
    from et_schema.program import Program

__all__ = [
    "EdgeProgramManager",
    "ExecutorchProgramManager",
    "to_edge",
    "to_edge_transform_and_lower",
]

install_formatters()

_OPTIONS: Final = {
    "to_edge(program, compile_config=EdgeCompileConfig(…))": EdgeCompileConfig,
    "to_executorch(ExecutorchBackendConfig(…))": ExecutorchBackendConfig,
}
"""The calls that take options, for messages."""


@called_as("called as to_edge(torch.export.export(module, args))", _OPTIONS)
def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram] | ModuleOp,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lower exported programs to the edge level; a single one becomes the method `forward`. A module is one of the aten
    level, as `et_ir.frontend.import_program` or a text gives it; it stays as it is.

    `constant_methods` adds methods without inputs by what they return: tensors, numbers, strings, None, and tuples,
    lists and dicts of them. With `generate_etrecord`, the compiled program has `get_etrecord`.

    Raises `et_ir.frontend.UnsupportedProgram` where a program cannot be imported, and `PassFailedException` where
    a level's contract cannot be met; both list every reason with its source line. Raises `ValueError` where a module is
    given with what importing takes: constant methods, default bounds, or a record.
    """
    return _to_edge(programs, constant_methods, compile_config, None, (), generate_etrecord)


@quiet_collector()  # imports too: a full collection walks all that torch holds
def _to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram] | ModuleOp,
    constant_methods: Mapping[str, Any] | None,
    compile_config: EdgeCompileConfig | None,
    kept: KeptOperators | None,
    transform_passes: MethodPasses,
    recorded: bool,
) -> EdgeProgramManager:
    """`to_edge`, where operators are kept whole for backends, and passes come after those of the configuration."""
    from et_ir.frontend import UnsupportedProgram, import_program
    from et_ir.frontend.importer import programs_by_method

    if not isinstance(programs, ModuleOp):
        programs = programs_by_method(programs)
    _check_kind("constant_methods", constant_methods, Mapping)
    _check_kind("compile_config", compile_config, EdgeCompileConfig)
    config = compile_config or EdgeCompileConfig()
    refused: list[ModulePass] = []
    if kept is not None and kept.names:
        from et_ir.driver.kept import DecomposeRefusedPass

        config = replace(config, preserve_ops=(*config.preserve_ops, *kept.names))
        refused = [DecomposeRefusedPass(kept)]
    stages = edge_stages(config, refused, transform_passes)
    if isinstance(programs, ModuleOp):
        if constant_methods or config.default_bounds or recorded:
            raise ValueError(
                "constant methods, default bounds and records need exported programs: a module is imported already"
            )
        module = programs.clone()
        run_stages(module, stages, config.observer)
        _warn_of_floats(module, config)
        return EdgeProgramManager(module)
    _, custom = split_preserved(config.preserve_names)
    try:
        module = import_program(
            programs,
            constant_methods=constant_methods,
            preserve=custom,
            default_bounds=config.default_bounds,
        )
    except UnsupportedProgram as error:
        found = import_faults(error, stages)
        if found is error:
            raise  # not from itself: who follows causes would never end
        raise found from error
    if not recorded:
        run_stages(module, stages, config.observer)
        _warn_of_floats(module, config)
        return EdgeProgramManager(module)
    from et_ir.etrecord.snapshot import Snapshot

    snapshot = Snapshot.of(programs)
    run_stages(module, stages, Observers([*filter(None, [config.observer]), snapshot]))
    _warn_of_floats(module, config)
    return EdgeProgramManager(module, snapshot=snapshot)


def _warn_of_floats(module: ModuleOp, config: EdgeCompileConfig) -> None:
    """Warn of inputs and outputs that are not integers, although they are to be."""
    if config.quantized_io:
        from et_ir.passes.core_to_edge.quantize_io import float_boundary

        for reason in float_boundary(module):
            warnings.warn(str(reason), stacklevel=5)


@called_as(
    "called as to_edge_transform_and_lower(torch.export.export(module, args), partitioner=…)", _OPTIONS
)
def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram] | ModuleOp,
    transform_passes: MethodPasses | None = None,
    partitioner: Partitioners | None = None,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
    *,
    strict: bool = False,
) -> EdgeProgramManager:
    """Lower exported programs to the edge level, run custom passes, and delegate what partitioners choose. A module is
    one of the aten level, as for `to_edge`.

    `transform_passes` see the whole program; in a map, those of a method see a module with this method alone.
    `partitioner` is one, several, or a map from method to these; of several, each gets what those before it left. The
    operators that they want whole (`ops_to_not_decompose`) are kept from decomposition, but for the ops that no
    partition takes. What partitioners and backends raise is an error if `strict`, as in `to_backend`. With
    `generate_etrecord`, the compiled program has `get_etrecord`.

    Raises as `to_edge` and `EdgeProgramManager.to_backend` do, and `ValueError` for an operator to keep that there
    is not.
    """
    passes = transform_passes or ()
    if partitioner is None:
        return _to_edge(programs, constant_methods, compile_config, None, passes, generate_etrecord)
    from et_ir.driver.kept import KeptOperators

    kept = KeptOperators.of(partitioner)
    edge = _to_edge(programs, constant_methods, compile_config, kept, passes, generate_etrecord)
    return edge.to_backend(partitioner, kept, strict=strict)


class _Printed:
    """Display of a manager: a summary, then the text of its module, of a large one the head and the tail."""

    module: ModuleOp

    @property
    def methods(self) -> frozenset[str]:
        """The names of the program's methods."""
        return frozenset(method.sym_name.data for method in methods_of(self.module))

    @property
    def config_methods(self) -> frozenset[str]:
        """The names of those that return constants."""
        return frozenset(
            method.sym_name.data for method in methods_of(self.module) if is_constant_method(method)
        )

    def exported_program(self, method_name: str = "forward") -> ModuleOp:
        """A copy of the module with this method alone, and what it uses. It is an xDSL module at any level.

        Raises `KeyError` for a method that there is not.
        """
        if method_name not in self.methods:
            there = ", ".join(sorted(self.methods))
            raise KeyError(
                f"no method '{method_name}'; there are: {there}{did_you_mean(method_name, self.methods)}"
            )
        return method_module(self.module, method_name)

    def _summary(self) -> str:
        names = sorted(self.methods)
        ops = ops_in_words(count_ops(self.module))
        methods = f"method{'s' * (len(names) != 1)} {', '.join(names)}"
        return f"{type(self).__name__}: {methods}, {ops}"

    def __str__(self) -> str:
        return f"{self._summary()}\n{shortened(str(self.module))}"

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def _repr_html_(self) -> str:
        """Display in notebooks: methods, delegates and the ops that are in none, weights."""
        return f"<p>{escape(self._summary())}</p>{module_html(self.module)}"


@dataclass(frozen=True, repr=False)
class EdgeProgramManager(_Printed):
    """A program at the edge level, or at that of backends."""

    module: ModuleOp
    """The xDSL module. Do not change it: `transform` gives a changed copy."""
    delegation: DelegationReport | None = None
    """Delegated ops, and the reasons against the others."""
    snapshot: Snapshot | None = field(default=None, compare=False)
    """The modules before delegation, from which `get_etrecord` builds its record."""

    if not TYPE_CHECKING:  # for checkers, other attributes are errors

        def __getattr__(self, name: str) -> Never:
            """Say where what is looked for is, if it is of the program that `to_executorch` gives."""
            way = ""
            if not name.startswith("_") and hasattr(ExecutorchProgramManager, name):
                way = f": lower it first, to_executorch().{name}"
            raise AttributeError(f"'EdgeProgramManager' object has no attribute '{name}'{way}")

    def _repr_html_(self) -> str:
        """Display in notebooks."""
        report = "" if self.delegation is None else self.delegation.html()
        return super()._repr_html_() + report

    def transform(self, passes: MethodPasses) -> EdgeProgramManager:
        """The program after passes, or after those of each method, checked against the contract of its level.

        Raises what passes raise, and `PassFailedException` where the contract is broken.
        """
        module = self.module.clone()
        checks = [edge_passes()[-1]] if self.delegation is None else backend_passes()
        run_passes(module, [TransformPass(passes), *checks])
        snapshot = self.snapshot
        if snapshot is not None and self.delegation is None:
            snapshot = replace(snapshot, modules={**snapshot.modules, "edge": module})
        return EdgeProgramManager(module, self.delegation, snapshot)

    @called_as("called as edge.to_backend(et_ir.backends.make_partitioner('xnnpack'))")
    def to_backend(
        self, partitioner: Partitioners, kept: KeptOperators | None = None, *, strict: bool = False
    ) -> EdgeProgramManager:
        """The program with what partitioners choose compiled by backends; `delegation` says what was left, and why.

        `partitioner` is one, several, or a map from method to these. Ops of `kept` operators that no partition takes
        are decomposed. This program stays as it is, whatever fails.

        What a partitioner or a backend raises costs its partition: the ops are left to other backends and to kernels,
        `delegation.failures` has the reason, and a warning is given. If `strict`, it is an error.

        Raises `PassFailedException`: among others `BackendFailed` for what a backend cannot compile, if `strict`; and
        `MissingBackend` for a backend id that is not registered.
        """
        from et_ir.driver.delegate import DelegatePass

        module = self.module.clone()
        delegate = DelegatePass(partitioner, kept, strict=strict)
        run_passes(module, [delegate, *backend_passes()])
        report = delegate.reports[-1]
        for failure in report.failures:
            warnings.warn(str(replace(failure, severity="warning")), stacklevel=2)
        return EdgeProgramManager(module, report, self.snapshot)

    @quiet_collector()
    @called_as(
        "called as edge.to_executorch(ExecutorchBackendConfig(…)); to_backend is for backends", _OPTIONS
    )
    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Lower to registers, plan memory and check; the file is made when it is asked for.

        Raises `PassFailedException`: among others where the target has no kernel for an operator, and
        `InfeasibleMemory` where the banks of `memory` are too small. Raises `ValueError` for a planner that there is
        not, for a `memory` that describes no banks, and for what can name no value.
        """
        _check_kind("config", config, ExecutorchBackendConfig)
        config = config or ExecutorchBackendConfig()
        _check_memory(config)
        stages = [backend_stage(config.passes), executorch_stage(config)]
        module = self.module.clone()
        run_stages(module, stages, config.observer)
        return ExecutorchProgramManager(module, config, self.snapshot)


def _check_kind(argument: str, value: object, kind: type) -> None:
    """Raise `TypeError` for an argument of another kind, such as one at the place of another."""
    if value is not None and not isinstance(value, kind):
        way, got = "", type(value).__name__
        if isinstance(value, EdgeCompileConfig):
            way = "; give it as compile_config=…"
        elif isinstance(value, str | PathLike) and kind is ExecutorchBackendConfig:
            way = f"; to write the file: to_executorch().save({value!r})"
        raise TypeError(f"{argument}: expected {kind.__name__}, got {got}{way}")


def _check_memory(config: ExecutorchBackendConfig) -> None:
    """Raise `ValueError` for what memory planning cannot be told."""
    from et_ir.passes.memory.plan_memory.selectors import check_selector
    from et_ir.planning.banks import parse_banks
    from et_ir.planning.planners import find_planner

    find_planner(config.memory_planning)
    banks = {bank.name for bank in parse_banks(config.memory)} if config.memory else set[str]()
    for value in (*config.caller_memory, *config.pins):
        check_selector(value)
    for value, bank in config.pins.items():
        if bank not in banks:
            raise ValueError(f"pins: {value!r}: no bank {bank!r} in memory={config.memory!r}")


class ExecutorchProgramManager(_Printed):
    """A program ready to be written as a `.pte` file."""

    if not TYPE_CHECKING:  # for checkers, other attributes are errors

        def __getattr__(self, name: str) -> Never:
            """Say how to run the program, if that is looked for."""
            way = ""
            if name in ("execute", "run", "forward", "load_method"):
                way = ": load its .buffer, Runtime.get().load_program(buffer).load_method('forward').execute([…])"
            raise AttributeError(f"'ExecutorchProgramManager' object has no attribute '{name}'{way}")

    def __init__(self, module: ModuleOp, config: ExecutorchBackendConfig, snapshot: Snapshot | None = None):
        self.module = module
        self.config = config
        self._snapshot = snapshot
        self._buffer: bytes | None = None

    @property
    def buffer(self) -> bytes:
        """The file's bytes. For large weights prefer `save`, which streams them."""
        if self._buffer is None:
            stream = io.BytesIO()
            self.write_to_file(stream)
            self._buffer = stream.getvalue()
        return self._buffer

    @property
    def executorch_program(self) -> Program:
        """The tables of the file, without what is in its segments."""
        from et_schema.pte import read_pte

        return read_pte(self.buffer).program

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Print the module's text, in which each op is one table of the file; or all tables field by field, if
        `verbose`. To standard output unless `out` is given.
        """
        if not verbose:
            print(self.module, file=out)
            return
        from pprint import pprint

        pprint(self.executorch_program, stream=out, width=120, sort_dicts=False)

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int]]:
        """The debug handle of each instruction, by method and index: instructions that come from one operator of the
        exported program have the same. `et_ir.emit.origins` says which module and source lines that is.
        """
        from et_ir.emit import debug_handle_map

        return debug_handle_map(self.module)

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """The delegates, by method and index of the instruction that calls them: the backend's `name`, and by each of
        its own identifiers the debug handles that it stands for.
        """
        from et_ir.emit import delegate_map

        return delegate_map(self.module)

    def get_etrecord(self) -> ETRecord:
        """The ETRecord of the program for the Inspector: its graphs, and the maps from instructions to nodes.

        Raises `ValueError` unless it was lowered with `generate_etrecord=True`, and `et_ir.etrecord.NotRecordable` for
        control flow and anything else that the format cannot represent.
        """
        from et_ir.etrecord import ETRecord

        if self._snapshot is None:
            raise ValueError("no ETRecord: lower with to_edge(…, generate_etrecord=True)")
        return ETRecord.of(self._snapshot, self.module)

    @quiet_collector()
    def write_to_file(self, stream: IO[bytes]) -> None:
        """Write the file to a binary stream. Raises `TypeError` for a path."""
        from et_ir.emit import EmitOptions, write

        if isinstance(stream, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an open file is expected, not a path; save({stream!r}) writes to a path")
        if isinstance(stream, TextIOBase):
            raise TypeError("the file is open as text: open it with mode 'wb'")

        write(
            self.module,
            stream,
            EmitOptions(
                stacktraces=self.config.emit_stacktrace,
                tensor_alignment=self.config.tensor_alignment,
                segment_alignment=self.config.segment_alignment,
                delegate_alignment=self.config.delegate_alignment,
            ),
        )

    def write_tensor_data_to_file(self, outdir: str | PathLike[str]) -> None:
        """Write the data files of the program into a folder, under their names."""
        from et_ir.emit import data_files, write_data_file

        with atomic_files() as files:
            for name in data_files(self.module):
                write_data_file(self.module, name, files.open(Path(outdir) / name, is_ptd))

    @called_as("called as program.save('model.pte')")
    def save(self, path: str | PathLike[str]) -> None:
        """Write the file; an existing one is replaced only when the new one is complete.

        External constants are not in it: `write_tensor_data_to_file` writes them.
        """
        with atomic_writer(Path(path)) as stream:
            self.write_to_file(stream)
