"""Partitioner of the native backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.forms import form_of_operator, is_view
from et_backends.codegen.kernels.loops import LOOP_FORMS
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.kernels.sorts import SORTS, kept_size
from et_backends.codegen.object_code import INSTRUCTION_SETS, require_llvm
from et_backends.codegen.passes.choose_algorithms import ALGORITHMS
from et_backends.codegen.passes.creations_to_constants import CreationsToConstantsPass
from et_backends.codegen.passes.fuse_bands import CACHE
from et_backends.codegen.passes.numbers_to_tensors import NumbersToTensorsPass
from et_backends.codegen.passes.pads_to_concatenations import PadsToConcatenationsPass
from et_backends.codegen.passes.signals_to_images import SignalsToImagesPass
from et_backends.codegen.passes.transposed_to_convolutions import TransposedToConvolutionsPass
from et_backends.codegen.passes.volumes_to_images import VolumesToImagesPass
from et_backends.codegen.sizes import (
    Known,
    has_known_sizes,
    largest,
    number_of,
    shape_of,
)
from et_backends.codegen.support import KEPT, KernelSupport, is_kept
from et_backends.native.compiler.backend import (
    ALGORITHM_SPEC,
    BANDS_SPEC,
    FALLBACK_SPEC,
    INSTRUCTION_SETS_SPEC,
    TUNE_SPEC,
    VALUES_SPEC,
    NativeBackend,
)
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.dependences import is_copied
from et_ir.delegation.operator_partitioner import RESTRICTIONS, OperatorPartitioner, restrictions
from et_ir.delegation.options import check_options
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import is_chosen
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.control import ControlOp, MapOp, ScanOp
from et_ir.dialects.program import LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor
from et_schema.whole_numbers import shortened, whole_number

__all__ = ["BACKEND", "NativePartitioner"]

DEFAULT_SETS: Final = ("x86-64-v4", "x86-64-v3", "aarch64")


MOST_SORTED: Final = 512
"""Elements of a line beyond which et-vm's own kernel puts them in order in less time: it does not use a heap."""


class _Support(KernelSupport):
    takes_tables = True
    takes_doubles = True

    def refusal(self, op: Operation) -> Diagnostic | None:
        found = super().refusal(op)
        if found is not None or not isinstance(op, SchemaOp) or operator_name(op) not in SORTS:
            return found
        most = largest(kept_size(op), self.ranges)
        if most is None or most > MOST_SORTED:
            return Diagnostic("the runtime's kernel sorts so many elements faster", str(op.results[0].type))
        return None


class NativePartitioner(OperatorPartitioner):
    """Takes what the native backend has rules for.

    `instruction_sets` are levels of architectures that code is made for: `x86-64-v4`, `x86-64-v3`, `aarch64`. With
    `only`, no other operators than these; without those of `without`. `algorithm` is that of convolutions where it can
    compute them: `direct`, `winograd_2` or `winograd_4`; a cost model chooses unless it is given. With `fallback`,
    partitions are in the file as portable programs too, which run where the code is not allowed or a processor lacks a
    feature. Images of more than `bands` bytes between a depthwise convolution and 1x1 convolutions are not written to
    memory; None to write all of them. With `tune`, the algorithms of convolutions are those of the least time on this
    machine, which runs the code meanwhile; times are kept in the user's cache folder. With `values`, what each kernel
    computes is kept in memory of its own, so that tracers, and with them comparisons and debug buffers, have it.

    Raises ValueError for other names and `tune` beside `algorithm`, ModuleNotFoundError where LLVM (llvmlite) is not
    installed.
    """

    takes_numbers = True
    kept_operators = KEPT

    def __init__(
        self,
        *,
        instruction_sets: Sequence[str] = DEFAULT_SETS,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
        algorithm: str | None = None,
        fallback: bool = False,
        bands: int | None = CACHE,
        tune: bool = False,
        values: bool = False,
    ):
        for name in instruction_sets:
            if name not in INSTRUCTION_SETS:
                there = ", ".join(INSTRUCTION_SETS)
                raise ValueError(f"unknown instruction set '{name}'; there are: {there}")
        if not instruction_sets:
            raise ValueError("no instruction set")
        if algorithm not in (None, *ALGORITHMS):
            raise ValueError(f"unknown algorithm '{algorithm}'; there are: {', '.join(ALGORITHMS)}")
        if tune and algorithm is not None:
            raise ValueError(f"tune has nothing to choose beside algorithm={algorithm}")
        require_llvm()  # before anything is lowered
        specs = [
            CompileSpec(INSTRUCTION_SETS_SPEC, "+".join(instruction_sets).encode()),
            CompileSpec(BANDS_SPEC, b"off" if bands is None else str(bands).encode()),
        ]
        if algorithm is not None:
            specs.append(CompileSpec(ALGORITHM_SPEC, algorithm.encode()))
        if fallback:
            specs.append(CompileSpec(FALLBACK_SPEC, b"1"))
        if tune:
            specs.append(CompileSpec(TUNE_SPEC, b"1"))
        if values:
            specs.append(CompileSpec(VALUES_SPEC, b"1"))
        super().__init__(
            DelegationSpec(NativeBackend.backend_id, tuple(specs)),
            only=only,
            without=without,
            min_ops=min_ops,
        )

    def passes(self) -> Sequence[ModulePass]:
        by_operator: dict[str, Sequence[ModulePass]] = {
            "convolution": [TransposedToConvolutionsPass(), VolumesToImagesPass(), SignalsToImagesPass()],
            "cat": [PadsToConcatenationsPass()],
            "expand": [CreationsToConstantsPass()],
        }
        chosen = [
            one
            for name, passes in by_operator.items()
            if is_chosen(name, self.only, self.without)
            for one in passes
        ]
        return chosen if self.only else [NumbersToTensorsPass(), *chosen]

    def support(self, method: FuncOp) -> KernelSupport:
        return _Support(method, self.only, self.without)

    def keep_filter(self) -> KeepFilter | None:
        return is_kept

    def refuse_control_flow(self, op: ControlOp) -> Diagnostic | None:
        if not isinstance(op, MapOp | ScanOp):
            return Diagnostic("control flow")
        for inner in op.body.block.ops:
            form = form_of_operator(inner) if isinstance(inner, SchemaOp) else None
            if isinstance(inner, ControlOp) or (form is not None and form not in LOOP_FORMS):
                return Diagnostic("a loop of more than products, rows and pointwise operators", inner.name)
            if any(
                not is_tensor(one.type) and not isinstance(one.owner, LiteralOp) for one in inner.operands
            ):
                return Diagnostic("a loop that computes with numbers", inner.name)
        return None

    def only_moves(self, op: Operation) -> bool:
        return isinstance(op, SchemaOp) and is_view(op)

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        return super().refuse_partition(ops) or _untold(ops)


def _untold(ops: Sequence[Operation]) -> Diagnostic | None:
    """Why a partition would not know the sizes of its tensors: it is told those of its inputs."""
    ops = [inner for op in ops for inner in op.walk()]
    inside: set[Operation | Block] = {*ops, *(region.block for op in ops for region in op.regions)}
    inputs: dict[SSAValue, None] = {}
    pending = [operand for op in ops for operand in op.operands]
    while pending:
        value = pending.pop(0)
        owner = value.owner
        if isinstance(owner, Operation) and is_copied(owner):
            pending += owner.operands
        elif owner not in inside:
            inputs.setdefault(value)
    for value in inputs:
        if not is_tensor(value.type) and value.type != i64:
            return Diagnostic("takes a number that is not an integer", str(value.type))
    for value in inputs:
        if is_tensor(value.type) and not has_known_sizes(value):
            return Diagnostic("a size without an expression", str(value.type))
    known = Known(list(inputs))
    for op in ops:
        for operand in op.operands:
            if not is_tensor(operand.type) and number_of(operand, known.numbers) is None:
                return Diagnostic("a number is not known at run time", str(operand.type))
        for result in op.results:
            try:
                for size in shape_of(result):
                    known.told(size)
            except ValueError as error:
                return Diagnostic("a size is not known at run time", str(error))
    return None


def _partitioner(options: Mapping[str, str]) -> NativePartitioner:
    try:
        require_llvm()
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error  # as for any request that cannot be met
    for key in ("fallback", "tune", "values"):
        if options.get(key, "0") not in ("0", "1"):
            raise ValueError(f"{key}={options[key]}: expected 0 or 1")
    known = ("for", *RESTRICTIONS, "algorithm", "fallback", "bands", "tune", "values")
    check_options(options, known)
    return NativePartitioner(
        instruction_sets=tuple(filter(None, options["for"].split("+"))) if "for" in options else DEFAULT_SETS,
        **restrictions(options),
        algorithm=options.get("algorithm"),
        fallback=options.get("fallback") == "1",
        bands=_bands_option(options),
        tune=options.get("tune") == "1",
        values=options.get("values") == "1",
    )


def _bands_option(options: Mapping[str, str]) -> int | None:
    given = options.get("bands", str(CACHE))
    if given == "off":
        return None
    number = whole_number(given)
    if number is None:
        raise ValueError(f"bands={shortened(given)}: expected a number of bytes, or off")
    return number


BACKEND: Final = Backend("native", NativeBackend, _partitioner)
