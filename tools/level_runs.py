"""Running a module of any level: by the reference evaluator, and at the executorch level by et-vm.

What only a runtime can compute (compiled delegates, operators that torch does not have) is lowered alone, as a method
of its own, and run by et-vm.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, StringAttr, f64, i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from et_ir.diagnostics import diagnose
from et_ir.dialects.executorch import PlanOp
from et_ir.dialects.executorch.arguments import literal_value
from et_ir.dialects.executorch.registers import MemoryRegisterOp
from et_ir.dialects.program import OverwriteOp, StoreOp
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, sizes_of
from et_ir.evaluation.evaluator import MAX_OPS, EvaluationFailed, Evaluator
from et_ir.locations import node_name, place_of
from et_schema.errors import ExecutorchError, InputError
from et_schema.scalar_type import numpy_dtype
from et_tools.comparison.recording import ObservedValue, Recorder, sources_of
from et_vm.backend import NativeOptions, NativeRefused
from et_vm.interchange import to_numpy

if TYPE_CHECKING:
    from et_schema.scalar_type import ScalarType
    from et_tools.vm_inputs import MethodSignature
    from et_vm.backend import BackendRegistry
    from et_vm.kernels.registry import KernelRegistry
    from et_vm.program import Program

__all__ = [
    "LevelRunner",
    "ModuleRun",
    "TextSignature",
    "is_executorch",
    "method_names",
    "method_signature",
    "program_of",
]

UNKNOWN_SIZE = 4
"""The size of an input's dimension that has no upper bound."""


@dataclass
class ModuleRun:
    """One execution of a method."""

    outputs: list[Any]
    """Arrays and Python values, flat."""
    overwritten: dict[int, Any] = field(default_factory=dict[int, Any])
    """Inputs that the method wrote to, by index."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """Mutable buffers afterwards, by name."""
    values: list[ObservedValue] = field(default_factory=list[ObservedValue])
    """Intermediate values in the order of execution, if they were asked for."""

    def results(self) -> dict[str, Any]:
        """Everything that a caller sees, by a name for messages."""
        found: dict[str, Any] = {f"output {index}": value for index, value in enumerate(self.outputs)}
        found |= {f"input {index}": value for index, value in self.overwritten.items()}
        return found | {f"buffer {name}": value for name, value in sorted(self.state.items())}


def is_executorch(module: ModuleOp) -> bool:
    """Whether a module is one of register programs, planned or not."""
    return any(isinstance(op, PlanOp) for op in module.body.block.ops)


def method_names(module: ModuleOp) -> list[str]:
    """The methods of a module at any level, in order."""
    return [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp | PlanOp)]


@dataclass(frozen=True)
class _InputTensor:
    shape: tuple[int, ...]
    element: ScalarType

    def sizes(self) -> tuple[int, ...]:
        """The largest shape."""
        return self.shape

    def dtype(self) -> ScalarType:
        """The element type."""
        return self.element


class TextSignature:
    """Inputs of a method in text, under the names of `et_vm.meta.MethodMeta`. Sizes that are known at run time only are
    the largest there can be.
    """

    def __init__(self, method: FuncOp):
        self._method = method
        self._symbols: dict[str, int] = {}
        for name, interval in method_ranges(method).items():
            self._symbols[name] = (
                max(UNKNOWN_SIZE, interval.least or 0) if interval.most is None else interval.most
            )

    def name(self) -> str:
        """The name of the method."""
        return self._method.sym_name.data

    def num_inputs(self) -> int:
        """Number of inputs, tensors or not."""
        return len(self._method.body.block.args)

    def input_tag(self, index: int) -> str:
        """`Tensor`, `Int`, `Double`, `Bool` or `Null`."""
        type = self._method.body.block.args[index].type
        if is_tensor(type):
            return "Tensor"
        return {i64: "Int", f64: "Double", i1: "Bool"}.get(type, "Null")  # pyright: ignore[reportArgumentType, reportCallIssue]

    def input_tensor_meta(self, index: int) -> _InputTensor:
        """Shape and element type of a tensor."""
        from et_ir.dialects.executorch.layout import scalar_type

        type = self._method.body.block.args[index].type
        assert is_tensor(type)
        shape: list[int] = []
        for size, said in zip(type.get_shape(), sizes_of(type), strict=True):
            if size != DYNAMIC_INDEX:
                shape.append(size)
            elif said is None:
                shape.append(UNKNOWN_SIZE)
            else:
                known = {name: self._symbols.get(name, UNKNOWN_SIZE) for name in said.symbols}
                shape.append(said.evaluate(known))
        return _InputTensor(tuple(shape), scalar_type(type.element_type))

    def input_value(self, index: int) -> int | float | bool | str | None:
        """The value that an input which is no tensor was exported with; of text that does not say it, some value."""
        attributes = self._method.arg_attrs
        exported = None if attributes is None else attributes.data[index].data.get("program.value")
        if exported is not None:
            return literal_value(exported)
        return {"Int": 1, "Double": 1.0, "Bool": True}.get(self.input_tag(index))


def _check_inputs(method: FuncOp, inputs: Sequence[Any]) -> None:
    """Raise `InputError` for an array of another shape or element type than the method takes, as et-vm does. A pass may
    have made an input integers, of which the floats are told as what they are.
    """
    from et_ir.dialects.executorch.layout import scalar_type

    for index, (value, argument) in enumerate(zip(inputs, method.body.block.args, strict=False)):
        type = argument.type
        if not is_tensor(type) or not isinstance(value, np.ndarray):
            continue
        expected, shape = scalar_type(type.element_type), type.get_shape()
        where = f"input {index}"
        if len(shape) != value.ndim or any(
            size not in (DYNAMIC_INDEX, got) for size, got in zip(shape, value.shape, strict=True)
        ):
            sizes = ", ".join("?" if size == DYNAMIC_INDEX else str(size) for size in shape)
            raise InputError(f"expected shape [{sizes}], got {list(value.shape)}", where=where)
        if expected.is_floating and value.dtype != numpy_dtype(expected):
            raise InputError(
                f"expected element type {expected.torch_name}, got {value.dtype.name}", where=where
            )


def method_signature(module: ModuleOp, name: str) -> MethodSignature:
    """The inputs of a method."""
    if is_executorch(module):
        return program_of(module).method_meta(name)
    return TextSignature(_function(module, name))


def _function(module: ModuleOp, name: str) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def program_of(module: ModuleOp) -> Program:
    """The program of a module at the executorch level, as et-vm loads it. One whose memory is not planned yet gets a
    naive plan, in which nothing shares memory; `module` stays as it is.

    Raises what emission and loading raise.
    """
    from et_ir.driver.stages import run_passes
    from et_ir.emit import write
    from et_ir.passes.memory.plan_memory import PlanMemoryPass
    from et_ir.passes.memory.write_back import WriteBackPass
    from et_vm.program import Program

    ops = list(module.walk())
    passes: list[Any] = []
    if any(isinstance(op, StoreOp | OverwriteOp) for op in ops):
        passes.append(WriteBackPass())
    if not any(isinstance(op, MemoryRegisterOp) and op.memory_id_attr is not None for op in ops):
        passes.append(PlanMemoryPass(algorithm="naive"))
    if passes:
        module = module.clone()
        run_passes(module, passes)
    stream = io.BytesIO()
    write(module, stream)
    return Program.load(stream.getvalue())


class LevelRunner:
    """Runs methods of modules, each time from initial state. Machine code, of the module's text or of this process's
    own backends, runs only if `native`.
    """

    def __init__(
        self,
        kernels: KernelRegistry | None = None,
        backends: BackendRegistry | None = None,
        *,
        native: bool = False,
        limit: int | None = None,
    ):
        """`limit` is the most ops that an execution evaluates; that of the evaluator if there is none."""
        self._kernels: KernelRegistry | str = "portable" if kernels is None else kernels
        self._backends = backends
        self._native = NativeOptions(native)
        self._limit = limit

    @staticmethod
    def with_files(places: Sequence[str], *, native: bool) -> LevelRunner:
        """With the kernels and backends of files; `native` as above. Raises `UsageError` for a file that cannot be
        used.
        """
        from argparse import Namespace

        from et_tools.vm_backends import chosen_backends
        from et_tools.vm_kernels import load_files
        from et_vm.kernels.libraries import load_library

        registry = load_library("portable")
        for kernels in load_files(list(places)):
            kernels(registry)
        return LevelRunner(registry, chosen_backends(Namespace(load=places)), native=native)

    def run(
        self, module: ModuleOp, inputs: Sequence[Any], method: str = "forward", *, values: bool = False
    ) -> ModuleRun:
        """Run a method on arrays and Python values; with `values`, record what each op computes.

        A register program runs on et-vm, where dead memory is overwritten. Raises `InputError` for inputs of other
        types than the method takes, `EvaluationFailed`, and what emitting
        and running a register program raises: `NativeRefused` for machine code that may not run.
        """
        if is_executorch(module):
            return self._on_vm(module, inputs, method, values)
        _check_inputs(_function(module, method), inputs)
        found: list[ObservedValue] = []
        steps: dict[Operation, int] = {}

        def watch(op: Operation, results: Sequence[Any]) -> None:
            step = steps.setdefault(op, len(steps))
            node, place = node_name(op.location), place_of(op.location)
            for index, result in enumerate(results):
                found.append(ObservedValue(node, op.name, place, index, (step, 0), _array(result)))

        evaluator = Evaluator(
            module,
            watch=watch if values else None,
            fallback=self._lowered,
            limit=self._limit or MAX_OPS,
        )
        outputs = [_array(one) for one in evaluator.run(inputs, method)]
        return ModuleRun(
            outputs,
            {index: _array(one) for index, one in sorted(evaluator.overwritten.items())},
            {name: _array(one) for name, one in evaluator.state.items()},
            found,
        )

    def _on_vm(self, module: ModuleOp, inputs: Sequence[Any], method: str, values: bool) -> ModuleRun:
        program = program_of(module)
        recorder = None
        if values:
            from et_ir.emit import origins

            recorder = Recorder(sources_of(origins(module)[method]), program.plan(method).inputs)
        loaded = program.load_method(
            method,
            kernels=self._kernels,
            backends=self._backends,
            native=self._native,
            poison=True,
            tracer=recorder,
        )
        given = [one.copy() if isinstance(one, np.ndarray) else one for one in inputs]
        outputs = [one.copy() if isinstance(one, np.ndarray) else one for one in loaded.execute(given)]
        state = {name: array.copy() for name, array in loaded.state.items()}
        overwritten = {index: given[index] for index in loaded.written_inputs}
        return ModuleRun(outputs, overwritten, state, [] if recorder is None else recorder.values)

    def _lowered(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of one op on et-vm."""
        import torch

        from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
        from et_ir.driver.stages import backend_stage, edge_stages, executorch_stage, run_stages

        module = _alone(op)
        config = ExecutorchBackendConfig(target="et-vm", unbounded="runtime", level="0")
        stages = [backend_stage(), executorch_stage(config)]
        if op.name.startswith("aten."):
            stages = [*edge_stages(EdgeCompileConfig(level="0")), *stages]
        try:
            run_stages(module, stages)
            run = self._on_vm(module, [_array(one) for one in operands], "forward", False)
        except NativeRefused:
            raise
        except (ExecutorchError, ValueError) as error:
            raise _no_reference(op, str(error)) from error
        return [torch.from_numpy(one) if isinstance(one, np.ndarray) else one for one in run.outputs]


def _no_reference(op: Operation, message: str) -> EvaluationFailed:
    return EvaluationFailed("the program cannot be evaluated", [diagnose(op, message)])


def _alone(op: Operation) -> ModuleOp:
    """A program whose only method computes one op of another program."""
    method = op.parent_op()
    while method is not None and not isinstance(method, FuncOp):
        method = method.parent_op()
    assert isinstance(method, FuncOp)
    whole = method.parent_op()
    assert isinstance(whole, ModuleOp)
    types: list[Attribute] = [operand.type for operand in op.operands]
    block = Block(arg_types=types)
    copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([copy, ReturnOp(*copy.results)])
    made = FuncOp("forward", (types, [result.type for result in op.results]), Region(block))
    ranges = method.attributes.get("program.ranges")
    if ranges is not None:
        made.attributes["program.ranges"] = ranges
    symbols = [one.clone() for one in whole.body.block.ops if not isinstance(one, FuncOp)]
    made.properties["sym_name"] = StringAttr("forward")
    return ModuleOp([*symbols, made])


def _array(value: Any) -> Any:
    """A value of the evaluator as et-vm takes and gives it."""
    array = to_numpy(value)
    return value if array is None else array
