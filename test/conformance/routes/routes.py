"""Routes of programs: compiler options, backend and runtime, each a row of `ROUTES`.

A new backend, target, optimization level or kernel library is one more row; all programs run on it that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import freestanding_machines as machines
import numpy as np
import torch
from stock import StockRuntime
from vulkan_device import require_device

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.coreml.compiler import CoreMLPartitioner
from et_backends.freestanding.compiler.programs import compile_program
from et_backends.native.compiler import NativePartitioner
from et_backends.nested.compiler import NestedPartitioner
from et_backends.openvino.compiler import OpenvinoPartitioner
from et_backends.tosa.compiler import TosaCompileSpec, TOSAPartitioner
from et_backends.vulkan.compiler import VulkanPartitioner
from et_backends.vulkan_graph.compiler import VulkanGraphPartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    raise_program,
    to_edge,
    to_edge_transform_and_lower,
)
from et_ir.delegation.partitioner import Partitioner
from et_ir.targets.lookup import DEFAULT
from et_vm.backends.cpu import cpu_features
from et_vm.run.validation import validate
from et_vm.runtime import Runtime
from routes.cases import Case, Prepared

__all__ = ["ROUTES", "Route"]

Execute = Callable[[list[Any]], tuple[Sequence[Any], Sequence[Any]]]
"""Executes with inputs: the results, and what the inputs hold afterwards."""

EVERY: Final = frozenset(
    {
        *("operators", "numbers", "control flow", "sizes", "caches", "features", "written inputs"),
        *("resizes", "resizes of any size"),
    }
)
SCALARS: Final = frozenset({"scalars"})
"""The family of programs for what computes with Python numbers itself: kernels, and generated code."""
QUANTIZED: Final = frozenset({"quantized"})
"""The family of programs for backends with operators on integers, and the kernels that these are compared with."""
STATIC: Final = frozenset({"operators", "resizes"}) | QUANTIZED
"""Families of programs for backends that compile graphs of tensors."""
FUSED: Final = frozenset({"fused"})
"""The family of programs for what generates code."""

AGAIN: Final = EVERY - {"control flow"}
"""Families of programs whose files are compiled again; `test_raising.py` has those with control flow."""
AGAIN_OF_STOCK: Final = AGAIN - {"resizes", "resizes of any size", "written inputs"}
"""Families of programs that stock's compiler compiles and whose files are compiled again. It takes torch's
decompositions, which go by factors where a size is kept, and returns inputs that are written as results, too.
"""


@dataclass(frozen=True)
class Route:
    """How programs are compiled and run, and how near to eager their results are: relative and absolute tolerances of
    floats.
    """

    families: frozenset[str] = EVERY
    partitioner: Callable[[], Partitioner] | None = None
    target: str = "et-vm"
    level: str = "1"
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the configuration of `to_executorch`."""
    kernels: str = "portable"
    poison: bool = False
    threads: int = 1
    is_stock: bool = False
    again: str = ""
    """Whose file is compiled again, `ours` or `stock`; none is if it is empty."""
    then: Callable[[], Partitioner] | None = None
    """The partitioner for the program of a file that is compiled again; `partitioner` is that of our file."""
    is_whole: bool = False
    """Whether nothing of a program of small operators may be left by the backend."""
    tolerance: tuple[float, float] = (1e-4, 1e-5)
    require: Callable[[], None] = lambda: None

    def edge(self, case: Case, program: Prepared) -> EdgeProgramManager:
        """The program at the level of backends."""
        config = EdgeCompileConfig(level=self.level)
        if self.partitioner is None:
            return to_edge(program.module, compile_config=config)
        edge = to_edge_transform_and_lower(
            program.module, partitioner=self.partitioner(), compile_config=config
        )
        if self.is_whole and case.family == "operators" and not case.is_group:
            assert edge.delegation is not None
            assert [(one.subject, one.notes) for one in edge.delegation.left_out] == []
        return edge

    def wrong(self, case: Case, program: Prepared, stock: StockRuntime, folder: Path) -> str | None:
        """The first difference from what eager returns and leaves in inputs, with its execution, or what is wrong with
        the file; None if there is neither.

        Raises what compilers and runtimes raise.
        """
        self.require()
        config = ExecutorchBackendConfig(target=self.target, level=self.level, **self.options)
        path = folder / "program.pte"
        edge = self.edge(case, program)
        if self.again:
            file = program.stock_file if self.again == "stock" else edge.to_executorch(config).buffer
            edge = raise_program(file, level=self.level)
            edge = edge if self.then is None else edge.to_backend(self.then())
        edge.to_executorch(config).save(path)
        found = validate(memoryview(path.read_bytes()))
        for error in (*found.problems, *found.clashes):
            return f"the file: {error}"
        execute = self._on_stock(path, stock) if self.is_stock else self._on_vm(path)
        for number, (inputs, expected) in enumerate(zip(program.inputs, program.expected, strict=True)):
            results, left = execute([one.clone() if isinstance(one, torch.Tensor) else one for one in inputs])
            reason = self._difference([*results, *left], expected, case.step)
            if reason is not None:
                return f"execution {number}: {reason}"
        return None

    def _on_vm(self, path: Path) -> Execute:
        program = Runtime(threads=self.threads).load_program(
            path, kernels=self.kernels, poison=self.poison, allow_native=True
        )
        method = program.load_method("forward")
        return lambda inputs: (method.execute(inputs), inputs)

    def _on_stock(self, path: Path, stock: StockRuntime) -> Execute:
        return lambda inputs: stock.run_in_place(path, inputs, go_on=True)

    def _difference(self, found: Sequence[Any], expected: Sequence[Any], step: float) -> str | None:
        if len(found) != len(expected):
            return f"{len(found)} values, expected {len(expected)}"
        rtol, atol = self.tolerance
        atol = max(atol, 1.001 * step)
        for number, (got, wanted) in enumerate(zip(found, expected, strict=True)):
            if not isinstance(wanted, torch.Tensor):
                if type(got) is not type(wanted) or got != wanted:
                    return f"value {number}: {got!r}, expected {wanted!r}"
                continue
            value = torch.as_tensor(np.array(got)) if isinstance(got, np.ndarray) else torch.as_tensor(got)
            try:
                torch.testing.assert_close(value, wanted, rtol=rtol, atol=atol, equal_nan=True)
            except AssertionError as error:
                return f"value {number}: {error}"
        return None


PROCESSORS: Final = ("cortex-m7", "riscv64gc")
"""Processors of the emulators that objects run in: they compute in float64, as some scans do."""


@dataclass(frozen=True)
class Freestanding(Route):
    """Programs as objects without a runtime, whose buffers are between guard pages."""

    processor: str = PROCESSORS[0]

    def wrong(self, case: Case, program: Prepared, stock: StockRuntime, folder: Path) -> str | None:
        del stock
        made = compile_program(program.module.clone(), self.processor, "op")
        for number, (inputs, expected) in enumerate(zip(program.inputs, program.expected, strict=True)):
            given = [
                np.ascontiguousarray(one.numpy().transpose(tensor.dim_order))
                for one, tensor in zip(inputs, made.interface.inputs, strict=True)
            ]
            found = machines.run(self.processor, folder, made, given)
            if found.status:
                return f"execution {number}: {made.interface.messages[found.status - 1]}"
            reason = self._difference([*found.outputs, *inputs], expected, case.step)
            if reason is not None:
                return f"execution {number}: {reason}"
        return None


SETS: Final = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


def _native(name: str) -> Callable[[], Partitioner]:
    return lambda: NativePartitioner(instruction_sets=[name])


def _tosa() -> Partitioner:
    return TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP+INT"))


CALLERS: Final = {"alloc_graph_input": False, "alloc_graph_output": False}

ROUTES: Final[dict[str, Route]] = {
    "portable": Route(EVERY | QUANTIZED | SCALARS, tolerance=(1e-5, 1e-6)),
    "portable-poisoned": Route(poison=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "aten": Route(kernels="aten", target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "aten-poisoned": Route(kernels="aten", poison=True, target="et-vm-aten", tolerance=(1e-5, 1e-6)),
    "stock": Route(EVERY | QUANTIZED | SCALARS, is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "O0": Route(level="0", poison=True, tolerance=(1e-5, 1e-6)),
    "O2": Route(level="2", poison=True, tolerance=(1e-5, 1e-6)),
    "Os-stock": Route(level="s", is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "callers-memory": Route(options=CALLERS, poison=True, tolerance=(1e-5, 1e-6)),
    "callers-memory-stock": Route(options=CALLERS, is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "again": Route(AGAIN, again="ours", poison=True, tolerance=(1e-5, 1e-6)),
    "again-stock": Route(AGAIN, again="ours", is_stock=True, target=DEFAULT, tolerance=(1e-5, 1e-6)),
    "again-of-stock": Route(AGAIN_OF_STOCK, again="stock", poison=True, tolerance=(1e-5, 1e-6)),
    "again-of-xnnpack": Route(AGAIN, XnnpackPartitioner, again="ours", poison=True, tolerance=(1e-3, 1e-4)),
    "again-for-xnnpack": Route(
        AGAIN_OF_STOCK, again="stock", then=XnnpackPartitioner, poison=True, tolerance=(1e-3, 1e-4)
    ),
    "again-for-native": Route(AGAIN_OF_STOCK, again="stock", then=_native(SETS[-1]), poison=True),
    "nested": Route(partitioner=NestedPartitioner, poison=True, tolerance=(1e-5, 1e-6)),
    **{
        f"native-{name}": Route(
            EVERY | FUSED | QUANTIZED | SCALARS, _native(name), poison=True, threads=2 - number % 2
        )
        for number, name in enumerate(SETS)
    },
    **{f"freestanding-{name}": Freestanding(FUSED, processor=name) for name in PROCESSORS},
    "xnnpack-stock": Route(
        EVERY | QUANTIZED,
        partitioner=XnnpackPartitioner,
        is_stock=True,
        target=DEFAULT,
        is_whole=True,
        tolerance=(1e-3, 1e-4),
    ),
    "xnnpack": Route(EVERY | QUANTIZED, partitioner=XnnpackPartitioner, poison=True, tolerance=(1e-3, 1e-4)),
    "xnnpack-aten": Route(partitioner=XnnpackPartitioner, kernels="aten", tolerance=(1e-3, 1e-4)),
    "coreml": Route(STATIC, CoreMLPartitioner, poison=True),
    "openvino": Route(STATIC, OpenvinoPartitioner, poison=True),
    "tosa": Route(STATIC, _tosa, poison=True),
    "vulkan": Route(EVERY | FUSED, VulkanPartitioner, poison=True, require=require_device),
    "vulkan-graph": Route(STATIC, VulkanGraphPartitioner, poison=True),
}
