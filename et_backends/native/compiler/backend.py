"""From a partition to a blob: machine code for each instruction set, and packed constants as named data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernel_work import kernel_work
from et_backends.codegen.passes.choose_algorithms import ALGORITHMS
from et_backends.codegen.passes.fuse_bands import CACHE
from et_backends.codegen.passes.plan_buffers import ALIGNMENT
from et_backends.codegen.pipeline import Memory, compile_partition
from et_backends.codegen.sizes import Known, Size, shape_of
from et_backends.native.compiler.tuning import add_times, sets_here
from et_backends.native.format import (
    VERSION,
    NativeConstant,
    NativeKernel,
    NativeMessage,
    NativeObject,
    NativeProgram,
    NativeSize,
    NativeTensor,
    NativeUpdate,
    NativeValue,
    NativeWord,
    NativeWork,
    SizeFunction,
    interface_symbol,
    serialize_native,
)
from et_backends.nested.compiler import NestedProgramBackend
from et_ir.delegation.backends_by_name import make_partitioner
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.named_data import NamedDataStore
from et_ir.delegation.specs import CompileSpec
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.driver.stages import run_pipeline
from et_ops.sizes import Expression
from et_schema.scalar_type import ScalarType

__all__ = [
    "ALGORITHM_SPEC",
    "BANDS_SPEC",
    "FALLBACK_SPEC",
    "INSTRUCTION_SETS_SPEC",
    "TUNE_SPEC",
    "VALUES_SPEC",
    "NativeBackend",
]

FALLBACK_SPEC: Final = "fallback"
"""The compile spec, `1` if the partition's portable program is to be in the blob too."""

INSTRUCTION_SETS_SPEC: Final = "instruction_sets"
"""The compile spec with the names of instruction sets, `+` between them."""
ALGORITHM_SPEC: Final = "algorithm"
"""The compile spec with the algorithm of convolutions; the cheapest one is taken of each where it is missing."""

BANDS_SPEC: Final = "bands"
"""The compile spec with the bytes of an image from which on convolutions are fused by bands, or `off`."""

TUNE_SPEC: Final = "tune"
"""The compile spec, `1` if algorithms are chosen by times that are measured on this machine."""

VALUES_SPEC: Final = "values"
"""The compile spec, `1` if what each kernel computes is kept for tracers."""


class NativeBackend(BackendDetails):
    """Compiles partitions to machine code with LLVM."""

    holds_lines = False

    @classmethod
    def further_dependences(cls, compile_specs: Sequence[CompileSpec]) -> str | None:
        # Times that are measured have a cache of their own, which may have got others since.
        return None if CompileSpec(TUNE_SPEC, b"1") in compile_specs else ""

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        names = tuple(settings[INSTRUCTION_SETS_SPEC].split("+"))
        bands = settings.get(BANDS_SPEC, str(CACHE))
        run_pipeline(edge_program, "canonicalize,dce")
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        store = NamedDataStore()
        fallback = b""
        if settings.get(FALLBACK_SPEC) == "1":
            fallback = _portable(edge_program, store)
        arguments = method.body.block.args
        known = Known(arguments)
        sizes = Sizes(known)
        inputs = [sizes.tensor(value) for value in arguments]
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        outputs = [sizes.tensor(value) for value in end.arguments]
        bounds = known.ranges(arguments, method_ranges(method))
        program = NativeProgram(
            version=VERSION,
            inputs=inputs,
            outputs=outputs,
            arena_alignment=ALIGNMENT,
            words=[
                NativeWord(number, dim or 0, *bounds[name]) for name, (number, dim) in known.words.items()
            ],
            sizes=sizes.made,
            fallback=fallback,
        )

        def mark(memory: Memory) -> str:
            program.arena_size = memory.arena_size
            program.constants = [NativeConstant(key, blob.nbytes) for key, blob in memory.constants]
            program.derived = memory.derived
            program.values = [
                NativeValue(number, sizes.tensor(value), nbytes) for number, value, nbytes in memory.values
            ]
            program.updates = [NativeUpdate(output, source) for output, source in memory.in_place]
            return interface_symbol(program)

        tune = _tuner(edge_program.clone(), names, bands) if settings.get(TUNE_SPEC) == "1" else None
        compiled = compile_partition(
            edge_program,
            names,
            mark,
            tune=tune,
            bands=None if bands == "off" else int(bands),
            algorithm=settings.get(ALGORITHM_SPEC),
            keep=settings.get(VALUES_SPEC) == "1",
        )
        mapping = DelegateMappingBuilder(generated_identifiers=True)
        kernels = [op for op in method.body.block.ops if isinstance(op, KernelOp)]
        for number, op in enumerate(kernels):
            # Kernels within a kernel have the location of their last op, which would come before the others.
            mapping.insert_delegate_mapping_entry(
                [one for one in op.body.walk() if not isinstance(one, KernelOp)]
            )
            work = kernel_work(op)
            if work is not None:
                read, written, flops = work
                program.work.append(NativeWork(number, read, written, flops or 0))
        for key, blob in compiled.memory.constants:
            store.add_named_data(key, blob, ALIGNMENT)
        program.messages = [NativeMessage(text) for text in compiled.messages]
        program.objects = [
            NativeObject(
                name,
                " ".join(compiled.cpu_flags[name]),
                code,
                [NativeKernel(symbol, number) for symbol, number in compiled.calls[name]],
            )
            for name, code in compiled.objects.items()
        ]
        return PreprocessResult(
            serialize_native(program),
            mapping.get_delegate_mapping(),
            store.get_named_data_store_output(),
            debug_orders=mapping.get_debug_orders(),
            updates=dict(compiled.memory.in_place),
        )


def _tuner(program: ModuleOp, names: Sequence[str], bands: str) -> Callable[[ModuleOp], None]:
    """A function that gives kernels their measured times; `program` is the module that they are formed of."""
    here = "+".join(sets_here(names) or names)
    # By name, as the partitioner needs this module.
    partitioners = [
        make_partitioner(f"native:for={here},algorithm={name},bands={bands}") for name in ALGORITHMS
    ]
    return partial(add_times, program=program, partitioners=partitioners, details=NativeBackend)


def _portable(edge_program: ModuleOp, store: NamedDataStore) -> bytes:
    """The partition as a program that runs with kernels; its weights are added to the store."""
    made = NestedProgramBackend.preprocess(edge_program.clone(), [])
    assert made.data_store_output is not None
    assert isinstance(made.processed_bytes, bytes)
    store.merge_named_data_store(made.data_store_output)
    return made.processed_bytes


class Sizes:
    """The sizes of tensors in the tables of a blob; those that are known at run time only are computed of its words."""

    def __init__(self, known: Known):
        self._known = known
        self._places: dict[Size, int] = {}
        self.made: list[NativeSize] = []

    def tensor(self, value: SSAValue) -> NativeTensor:
        """An input or output."""
        if not is_tensor(value.type):
            return NativeTensor(ScalarType.LONG, is_number=True)
        sizes = [self._size(size) for size in shape_of(value)]
        type = tensor_type(value)
        # A tensor that is read for its sizes alone may be of any element type.
        return NativeTensor(scalar_type(type.element_type), sizes, bytes(dim_order_of(type)))

    def _size(self, size: Size) -> int:
        told = self._known.told(size)
        if isinstance(told, int):
            return told
        if told not in self._places:
            self._places[told] = len(self.made)
            self.made.append(NativeSize(_code(told, list(self._known.words))))
        return ~self._places[told]


def _code(size: Expression, words: Sequence[str]) -> list[int]:
    """The instructions that compute a size."""

    def apply(function: str, a: list[int], b: list[int]) -> list[int]:
        return [*a, *b, int(SizeFunction[function.upper()]), 0]

    return size.folded(
        lambda name: [int(SizeFunction.WORD), words.index(name)],
        lambda number: [int(SizeFunction.NUMBER), number],
        apply,
    )
