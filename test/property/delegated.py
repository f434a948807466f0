"""Programs of which random parts are delegated, or all that a backend takes: they compute the same."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_backends.native.compiler import NativePartitioner
from et_backends.nested.compiler import NestedPartitioner
from et_ir.backends import Diagnostic, OperatorSupport, delegate_module, make_partitioner, partition_module
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.control import ControlOp
from et_ir.dialects.schema import SchemaOp
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import (
    aten_passes,
    backend_passes,
    core_aten_passes,
    edge_passes,
    executorch_passes,
)
from et_ir.driver.stages import run_passes, run_pipeline
from et_ir.emit import write
from et_ir.verification import verify_module
from et_schema.backend_packages import backend_packages

__all__ = ["compile_delegated", "compile_for", "compile_native"]


class _Some(OperatorSupport):
    """Takes an op or not, by a coin."""

    def __init__(self, method: FuncOp, random: Random, share: float):
        self._taken = {op for op in method.walk() if random.random() < share}

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        return None if op in self._taken else Diagnostic("the coin says no")


class _Random(NestedPartitioner):
    """Takes random ops, random pairs of them together, and control flow and state or not."""

    def __init__(self, random: Random):
        super().__init__(min_ops=random.choice([1, 1, 2, 3]), share=random.random() < 0.5)
        # The same each time it is asked.
        self._seed = random.random()
        self._part = random.choice([0.3, 0.6, 0.9, 1.0])
        self.takes_control_flow = random.random() < 0.5
        self.takes_state = random.random() < 0.5

    def support(self, method: FuncOp) -> OperatorSupport:
        return _Some(method, Random(self._seed), self._part)

    def patterns(self, method: FuncOp) -> Sequence[Sequence[Operation]]:
        random = Random(self._seed)
        taken = self.support(method)
        found: list[list[Operation]] = []
        for op in method.walk():
            for operand in op.operands:
                owner = operand.owner
                if (
                    isinstance(owner, SchemaOp)
                    and owner.parent is op.parent
                    and not isinstance(op, ControlOp)
                    and taken.is_node_supported(op)
                    and taken.is_node_supported(owner)
                    and random.random() < 0.2
                ):
                    found.append([owner, op])
        return found


def compile_delegated(module: ModuleOp, random: Random) -> bytes:
    """Lower a module of the aten level, which changes, with random parts delegated, and the file of it."""
    run_passes(module, [*aten_passes(), *core_aten_passes(), *edge_passes()])
    partitioners = [_Random(random) for _ in range(random.choice([1, 1, 2]))]
    regions = module.clone()
    report = partition_module(regions, partitioners)
    # What cannot be run as one has an op in front of what it needs.
    verify_module(regions)
    run_passes(regions, backend_passes())
    if any(count < 1 for _, _, count in report.partitions):
        raise ValueError("a partition without ops")
    if random.random() < 0.5:
        delegate_module(module, partitioners)
    else:
        # Passes look into regions as into everything else.
        run_pipeline(regions, "canonicalize,constant-fold,cse,dce,lower-partitions")
        module = regions
    return _file(module)


def compile_native(module: ModuleOp, instruction_set: str) -> bytes:
    """Lower a module of the aten level, which changes, with what the native backend takes as machine code."""
    run_passes(module, [*aten_passes(), *core_aten_passes(), *edge_passes()])
    delegate_module(module, [NativePartitioner(instruction_sets=[instruction_set])])
    return _file(module)


def compile_for(module: ModuleOp, backend: str) -> bytes:
    """Lower a module of the aten level, which changes, with what a backend takes, as `--backend` names it."""
    run_passes(module, [*aten_passes(), *core_aten_passes(), *edge_passes()])
    delegate_module(module, [make_partitioner(backend)])
    taken = {op.backend.data for op in module.body.block.ops if isinstance(op, LoweredOp)}
    # Those of devices have no runtime here; their blobs are read.
    return _file(module, taken - backend_packages().places("runtime").keys())


def _file(module: ModuleOp, extra_backends: Collection[str] = ()) -> bytes:
    """The file of a module whose parts are delegated, also to `extra_backends`, which et-vm does not have."""
    verify_module(module)
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=sorted(extra_backends))
    run_passes(module, [*backend_passes(), *executorch_passes(config)])
    verify_module(module)
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()
