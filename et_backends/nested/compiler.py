"""The reference backend: a partition becomes a `.pte` of its own, which the runtime runs with its own kernels.

It takes everything there is a kernel for, so that all of delegation can be tried, and tested, without a machine of its
own. Options:

| option | what |
|---|---|
| `without` | operators that it does not take, as `relu+add.Tensor`; `state` for mutable buffers |
| `only` | the only operators that it takes; `control` for branches and loops that have nothing else |
| `target` | whose kernels a partition may use; `et-vm` by default |
| `min` | how many ops a partition has at least |
| `share` | `0` for constants within each partition; else those of 64 bytes and more are stored once, by their content |
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataStore
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import ChosenByUser, EverythingSupported, OperatorSupport
from et_ir.targets.lookup import find_target

__all__ = ["BACKEND", "NestedPartitioner", "NestedProgramBackend"]

SHARED_BYTES: Final = 64
"""From how many bytes on a constant is stored by itself."""

ALIGNMENT: Final = 64
"""Of shared constants in the file: that of a cache line."""

_WORDS: Final = ("control", "state")
"""Ops among operators that are not operators themselves."""


class NestedPartitioner(CapabilityPartitioner):
    """Takes whatever can be taken, control flow and state among it."""

    takes_control_flow = True
    takes_state = True

    def __init__(
        self,
        *,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        target: str = "et-vm",
        min_ops: int = 1,
        share: bool = True,
    ):
        specs = (CompileSpec("target", target.encode()), CompileSpec("share", b"1" if share else b"0"))
        super().__init__(DelegationSpec(NestedProgramBackend.backend_id, specs))
        self.min_ops = min_ops
        chosen = operators(only, _WORDS), operators(without, _WORDS)
        self._chosen = ChosenByUser(EverythingSupported(), *chosen)
        # Control flow that a user has not asked for stays outside.
        self.takes_control_flow = not only or "control" in only
        self.takes_state = "state" not in without

    def support(self, method: FuncOp) -> OperatorSupport:
        return self._chosen


class NestedProgramBackend(BackendDetails):
    """Compiles a partition to a `.pte`. Its own identifiers are the indices of instructions."""

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        from et_ir.dialects.executorch import PlanOp
        from et_ir.driver.configs import ExecutorchBackendConfig
        from et_ir.driver.pipelines import executorch_passes
        from et_ir.driver.stages import run_passes
        from et_ir.emit import write
        from et_ir.emit.basic_blocks import instruction_order

        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        run_passes(
            edge_program, executorch_passes(ExecutorchBackendConfig(target=settings.get("target", "et-vm")))
        )
        store = NamedDataStore()
        if settings.get("share") != "0":
            _share_constants(edge_program, store)
        mapping = DelegateMappingBuilder(generated_identifiers=True)
        for plan in edge_program.body.block.ops:
            if isinstance(plan, PlanOp):
                for register in plan.inputs:
                    # Nobody gives these by name, and partitions that are equal otherwise have one blob.
                    register.given_name = None
                for ops in instruction_order(plan.blocks).instructions.values():
                    for op in ops:
                        mapping.insert_delegate_mapping_entry(op)
        stream = io.BytesIO()
        write(edge_program, stream)
        return PreprocessResult(
            stream.getvalue(), mapping.get_delegate_mapping(), store.get_named_data_store_output()
        )


def _share_constants(module: ModuleOp, store: NamedDataStore) -> None:
    """Move constants out of the program, under names that say their content: equal ones are one in the file."""
    from et_ir.dialects.executorch import ConstantOp, PlanOp
    from et_ir.dialects.program import Globals

    symbols = Globals(module).by_name
    names: dict[str, str] = {}
    for plan in module.body.block.ops:
        if not isinstance(plan, PlanOp):
            continue
        for register in plan.registers:
            if not isinstance(register, ConstantOp):
                continue
            symbol = symbols[register.key]
            if symbol.value is None or symbol.value.blob.nbytes < SHARED_BYTES:
                continue
            blob = symbol.value.blob
            name = names.setdefault(register.key, f"sha256:{blob.sha256}")
            store.add_named_data(name, blob, ALIGNMENT)
            register.properties["symbol"] = SymbolRefAttr(name)
            register.properties.pop("anonymous", None)
            register.properties["external"] = UnitAttr()
    kept: set[str] = set()
    for key, name in names.items():
        symbol = symbols[key]
        if name in kept:
            module.body.block.erase_op(symbol)
        else:
            symbol.properties["sym_name"] = StringAttr(name)
            # The program that the partition is in has the data.
            symbol.properties.pop("value")
            kept.add(name)


def _partitioner(options: Mapping[str, str]) -> NestedPartitioner:
    check_options(options, ("without", "only", "target", "min", "share"))
    target = options.get("target", "et-vm")
    find_target(target)
    if options.get("share", "1") not in ("0", "1"):
        raise ValueError(f"share={options['share']}: expected 0 or 1")
    return NestedPartitioner(
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        target=target,
        min_ops=number_option(options, "min", 1),
        share=options.get("share", "1") == "1",
    )


BACKEND: Final = Backend("nested", NestedProgramBackend, _partitioner)
