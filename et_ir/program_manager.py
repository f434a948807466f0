"""The compiler from Python, under the names that users of ExecuTorch know.

    edge = to_edge(torch.export.export(model, args))     # or {"method": exported_program, …}
    et = edge.to_executorch()
    et.save("model.pte")

`edge.module` and `et.module` are the xDSL modules. Lowering never changes the module it starts from: every step
works on a copy, so a manager can be lowered twice, with different options.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.method_passes import MethodPasses, run_passes
from et_ir.passes.pipelines import (
    ATEN,
    BACKEND,
    core_aten_pipeline,
    edge_pipeline,
    executorch_pipeline,
    quiet_collector,
    run_pipeline,
    split_preserved,
)
from et_ir.presets import DEFAULT
from et_ir.targets.registry import DEFAULT as DEFAULT_TARGET
from et_schema.atomic import atomic_writer

if TYPE_CHECKING:
    from torch._ops import OpOverload
    from torch.export import ExportedProgram

    from et_ir.backends import DelegationReport, KeptOperators, Partitioners

__all__ = [
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "Progress",
    "to_edge",
    "to_edge_transform_and_lower",
]

Progress = Callable[[str, ModuleOp], None]
"""Called with the name of each level when the program has reached it, and the module as it is then."""


@dataclass(frozen=True)
class EdgeCompileConfig:
    """How to lower to the edge level."""

    _check_ir_validity: bool = True
    """Whether to check the edge level's contract. What breaks it fails later, with a less telling message."""
    transform_passes: MethodPasses = ()
    """Passes of the user's own, run on the edge module before it is checked; or by the method that they are for."""
    preserve_ops: Sequence[str | OpOverload] = ()
    """Operators to keep though they are not Core ATen, such as `linear`: the target must have kernels for them. Of a
    library of your own, `mylib::foo`, one that would be compiled as what it calls because it has no out variant.
    """
    dequantize_weights: bool = False
    """Whether quantised weights become floats at compile time. The file is up to four times as large, and nothing is
    restored while the program runs. Otherwise they stay what they are.
    """
    default_bounds: Mapping[str, int] = field(default_factory=dict[str, int])
    """The largest values of sizes that export knows no bound of, by export's symbol (`s77`) or by input and dimension
    (`x.0`). Memory is planned for them.
    """
    level: str = DEFAULT
    """How much to do, as `et-compile -O`: `0`, `1`, `2` or `s`."""
    progress: Progress | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ExecutorchBackendConfig:
    """How to lower from the edge level to a file."""

    target: str = DEFAULT_TARGET
    """The runtime whose kernels the program must make do with: `stock-1.4`; `stock-1.4-quantized`, the same with the
    library of quantised kernels; `et-vm`; or `et-vm-aten` for et-vm with the kernels of torch.
    """
    extra_operators: Sequence[str] = ()
    """Operators that the runtime has kernels for beside the target's own: `mylib::foo.out`, as files name them."""
    extra_backends: Sequence[str] = ()
    """Backends that the runtime has beside the target's own, by their ids in files: `StripsBackend`."""
    memory_planning: str = "best"
    """Planning algorithm: `best`, `exact`, `greedy`, `naive`, `upstream`, one installed, or `module:function`."""
    alloc_graph_input: bool = True
    """Whether inputs get planned memory, or point at the caller's."""
    alloc_graph_output: bool = True
    """Whether outputs get planned memory, or the caller gives it."""
    check_plan: bool = False
    """Whether memory planning is checked by code that the planners do not share."""
    memory: str = ""
    """Memories with sizes and speeds, fast ones first, as `et-compile --memory` takes them:
    `sram:id=1,size=256K;dram:id=2`. One arena of any size unless it is given.
    """
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The bank of `memory` that values have to be in: `{"forward.inputs.0": "dram", "forward.modules.fc": "sram"}`.
    `et_ir.passes.memory.plan_memory.selectors` has the names; of several for one value the last counts.
    """
    caller_memory: Sequence[str] = ()
    """Inputs and outputs that are the caller's memory, beside what `alloc_graph_input` and `alloc_graph_output` say:
    `forward.inputs.0`, or `decode.outputs` for all of a method's.
    """
    unbounded: Literal["error", "runtime"] = "error"
    """What tensors are that have no largest size: an error, or without a place in the plan; `et-vm` then finds memory
    for them while it runs, and gives it back.
    """
    emit_stacktrace: bool = False
    """Whether the file says for each instruction which source lines it comes from."""
    tensor_alignment: int = 16
    segment_alignment: int = 128
    external_constants: bool | Callable[[str], str | None] = False
    """Whether constants go to a data file, `constants.ptd`; or the name of the file by that of the constant, None for
    those that stay in the program. Data that backends share goes with them, by its key. `write_tensor_data_to_file`
    writes the files.
    """
    passes: Sequence[ModulePass] = ()
    """Passes of the user's own, run on the backend-level module first."""
    level: str = DEFAULT
    """How much to do, as `et-compile -O`: `0`, `1`, `2` or `s`."""
    progress: Progress | None = field(default=None, repr=False)


def _silent(_level: str, _module: ModuleOp) -> None:
    """Progress that nobody asked for."""


def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
) -> EdgeProgramManager:
    """Lower exported programs to the edge level; a single one becomes the method `forward`.

    `constant_methods` adds methods without inputs by what they return: tensors, numbers, strings, None, and tuples,
    lists and dicts of them.

    Raises `et_ir.frontend.UnsupportedProgram` where a program cannot be imported, and `PassFailedException` where
    a level's contract cannot be met; both list every reason with its source line.
    """
    return _to_edge(programs, constant_methods, compile_config, None)


def _to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, Any] | None,
    compile_config: EdgeCompileConfig | None,
    kept: KeptOperators | None,
    transform_passes: MethodPasses = (),
) -> EdgeProgramManager:
    """`to_edge`, where operators are kept whole for backends, and passes come after those of the configuration."""
    from et_ir.frontend import import_program

    config = compile_config or EdgeCompileConfig()
    report = config.progress or _silent
    with quiet_collector():
        preserve, custom = split_preserved([_operator_name(op) for op in config.preserve_ops])
        module = import_program(
            programs, constant_methods=constant_methods, preserve=custom, default_bounds=config.default_bounds
        )
        run_pipeline(module, ATEN)
        report("aten", module)
        if kept is not None:
            kept.decompose_refused(module)
            preserve = [*preserve, *kept.names]
        run_pipeline(
            module, core_aten_pipeline(preserve, dequantize=config.dequantize_weights, level=config.level)
        )
        report("core-aten", module)
        lower, _, check = edge_pipeline(level=config.level).rpartition(",")
        run_pipeline(module, lower)
        run_passes(module, config.transform_passes)
        run_passes(module, transform_passes)
        if config._check_ir_validity:  # pyright: ignore[reportPrivateUsage] (upstream's name)
            run_pipeline(module, check)
        report("edge", module)
    return EdgeProgramManager(module)


def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    transform_passes: MethodPasses | None = None,
    partitioner: Partitioners | None = None,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
) -> EdgeProgramManager:
    """Lower exported programs to the edge level, run passes of one's own, and delegate what partitioners choose.

    `transform_passes` see the whole program; in a map, those of a method see a module with this method alone.
    `partitioner` is one, several, or a map from method to these; of several, each gets what those before it left. The
    operators that they want whole (`ops_to_not_decompose`) are kept from decomposition, but for the ops that no
    partition takes.

    Raises as `to_edge` and `EdgeProgramManager.to_backend` do, and `ValueError` for an operator to keep that there
    is not.
    """
    passes = transform_passes or ()
    if partitioner is None:
        return _to_edge(programs, constant_methods, compile_config, None, passes)
    from et_ir.backends.kept import KeptOperators

    kept = KeptOperators.of(partitioner)
    return _to_edge(programs, constant_methods, compile_config, kept, passes).to_backend(partitioner, kept)


def _operator_name(operator: str | OpOverload) -> str:
    """The name of an operator as passes take it: `linear`, `add.Tensor`, `mylib::foo`."""
    name = operator if isinstance(operator, str) else operator.name()
    return name.removeprefix("aten.").removesuffix(".default")


@dataclass(frozen=True)
class EdgeProgramManager:
    """A program at the edge level, or at that of backends."""

    module: ModuleOp
    delegation: DelegationReport | None = None
    """What `to_backend` has delegated, and why not the rest."""

    @property
    def methods(self) -> frozenset[str]:
        """The names of the program's methods."""
        return frozenset(op.sym_name.data for op in self.module.body.block.ops if isinstance(op, FuncOp))

    def transform(self, passes: MethodPasses) -> EdgeProgramManager:
        """The program after passes, or after those of each method, checked against the contract of its level."""
        module = self.module.clone()
        run_passes(module, passes)
        run_pipeline(module, "verify-edge" if self.delegation is None else BACKEND)
        return EdgeProgramManager(module, self.delegation)

    def to_backend(self, partitioner: Partitioners, kept: KeptOperators | None = None) -> EdgeProgramManager:
        """The program with what partitioners choose compiled by backends; `delegation` says what was left, and why.

        `partitioner` is one, several, or a map from method to these. Ops of `kept` operators that no partition takes
        are decomposed. This program stays as it is, whatever fails.

        Raises `PassFailedException`: among others `BackendFailed` for what a backend cannot compile; and
        `MissingBackend` for a backend id that is not registered.
        """
        from et_ir.backends.delegate import delegate_module

        with quiet_collector():
            module = self.module.clone()
            report = delegate_module(module, partitioner, kept=kept)
            run_pipeline(module, BACKEND)
        return EdgeProgramManager(module, report)

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Lower to registers, plan memory and check; the file is made when it is asked for.

        Raises `PassFailedException`: among others where the target has no kernel for an operator, and
        `InfeasibleMemory` where the banks of `memory` are too small. Raises `ValueError` for a planner that there is
        not, for a `memory` that describes no banks, and for what can name no value.
        """
        config = config or ExecutorchBackendConfig()
        _check_memory(config)
        report = config.progress or _silent
        with quiet_collector():
            module = self.module.clone()
            run_passes(module, config.passes)
            run_pipeline(module, BACKEND)
            report("backend", module)
            run_pipeline(
                module,
                executorch_pipeline(
                    target=config.target,
                    algorithm=config.memory_planning,
                    plan_inputs=config.alloc_graph_input,
                    plan_outputs=config.alloc_graph_output,
                    unbounded=config.unbounded,
                    extra_operators=config.extra_operators,
                    extra_backends=config.extra_backends,
                    check_plan=config.check_plan,
                    memory=config.memory,
                    caller=config.caller_memory,
                    pins=config.pins,
                    level=config.level,
                ),
            )
            if config.external_constants:
                _externalize(module, config.external_constants)
            report("executorch", module)
        return ExecutorchProgramManager(module, config)


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
            raise ValueError(f"pins: {value!r}: {bank!r} is no bank of memory={config.memory!r}")


def _externalize(module: ModuleOp, files: bool | Callable[[str], str | None]) -> None:
    from et_ir.emit.data_files import DEFAULT
    from et_ir.passes.to_executorch.externalize_constants import externalize

    externalize(module, lambda key, _size: files(key) if callable(files) else DEFAULT)


class ExecutorchProgramManager:
    """A program ready to be written as a `.pte` file."""

    def __init__(self, module: ModuleOp, config: ExecutorchBackendConfig):
        self.module = module
        self.config = config
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
    def methods(self) -> frozenset[str]:
        """The names of the program's methods."""
        from et_ir.dialects.executorch import PlanOp

        return frozenset(op.sym_name.data for op in self.module.body.block.ops if isinstance(op, PlanOp))

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

    def write_to_file(self, stream: IO[bytes]) -> None:
        """Write the file to a binary stream."""
        from et_ir.emit import EmitOptions, write

        with quiet_collector():
            write(
                self.module,
                stream,
                EmitOptions(
                    stacktraces=self.config.emit_stacktrace,
                    tensor_alignment=self.config.tensor_alignment,
                    segment_alignment=self.config.segment_alignment,
                ),
            )

    def write_tensor_data_to_file(self, outdir: str | PathLike[str]) -> None:
        """Write the data files of the program into a folder, under their names."""
        from et_ir.emit import data_files, write_data_file

        for name in data_files(self.module):
            with atomic_writer(Path(outdir) / name) as stream:
                write_data_file(self.module, name, stream)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the file; an existing one is replaced only when the new one is complete.

        External constants are not in it: `write_tensor_data_to_file` writes them.
        """
        with atomic_writer(Path(path)) as stream:
            self.write_to_file(stream)
