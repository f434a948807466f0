"""Conversion of kernels to loops over buffers.

The function of a partition becomes one that calls the kernels, which are functions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import KernelOp, ViewOp
from et_backends.codegen.elements import element_of, nbytes
from et_backends.codegen.forms import is_read_packed
from et_backends.codegen.kernels.attention import attention_kernel
from et_backends.codegen.kernels.bands import bands_kernel
from et_backends.codegen.kernels.channel_convolution import channel_convolution_kernel
from et_backends.codegen.kernels.constant_pad import constant_pad_kernel
from et_backends.codegen.kernels.convolution import convolution_kernel
from et_backends.codegen.kernels.depthwise import depthwise_kernel
from et_backends.codegen.kernels.filter_convolution import filter_convolution_kernel
from et_backends.codegen.kernels.gathers import (
    gather_kernel,
    scatter_kernel,
    sized_gather_kernel,
)
from et_backends.codegen.kernels.grid_sample import grid_sample_kernel
from et_backends.codegen.kernels.grouped_product import grouped_product_kernel
from et_backends.codegen.kernels.host import Host, Packed
from et_backends.codegen.kernels.integer_convolution import integer_convolution_kernel
from et_backends.codegen.kernels.integer_depthwise import integer_depthwise_kernel
from et_backends.codegen.kernels.integer_product import integer_product_kernel
from et_backends.codegen.kernels.loops import loop_kernel
from et_backends.codegen.kernels.moves import move_kernel
from et_backends.codegen.kernels.pointwise import copy_kernel, pointwise_kernel
from et_backends.codegen.kernels.pool import pool_kernel
from et_backends.codegen.kernels.product import product_kernel
from et_backends.codegen.kernels.quantized_product import quantized_product_kernel
from et_backends.codegen.kernels.resample import resample_kernel
from et_backends.codegen.kernels.rows import rows_kernel
from et_backends.codegen.kernels.scans import scan_kernel
from et_backends.codegen.kernels.shuffle import shuffle_kernel
from et_backends.codegen.kernels.sized_images import (
    sized_convolution_kernel,
    sized_depthwise_kernel,
    sized_pool_kernel,
)
from et_backends.codegen.kernels.sized_resizing import sized_resize_kernel
from et_backends.codegen.kernels.sorts import sort_kernel
from et_backends.codegen.kernels.transpose import transpose_kernel
from et_backends.codegen.kernels.winograd import winograd_kernel
from et_backends.codegen.object_code import INSTRUCTION_SETS, InstructionSet
from et_backends.codegen.sizes import Known, count_of
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.program import DataAttr, GetOp
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.locations import module_path

__all__ = ["ConvertToLoopsPass", "Loops", "loops_of"]

FORMS: Final[dict[str, Callable[[Host, KernelOp], None]]] = {
    "attention": attention_kernel,
    "pointwise": pointwise_kernel,
    "bands": bands_kernel,
    "channel_convolution": channel_convolution_kernel,
    "convolution": convolution_kernel,
    "depthwise": depthwise_kernel,
    "filter_convolution": filter_convolution_kernel,
    "gather": gather_kernel,
    "grid_sample": grid_sample_kernel,
    "grouped_product": grouped_product_kernel,
    "integer_convolution": integer_convolution_kernel,
    "integer_depthwise": integer_depthwise_kernel,
    "integer_point": integer_product_kernel,
    "integer_product": integer_product_kernel,
    "loop": lambda host, kernel: loop_kernel(host, kernel, _convert),
    "move": move_kernel,
    "pad": constant_pad_kernel,
    "pool": pool_kernel,
    "product": product_kernel,
    "quantized_product": quantized_product_kernel,
    "resample": resample_kernel,
    "shuffle": shuffle_kernel,
    "transpose": transpose_kernel,
    "rows": rows_kernel,
    "winograd_2": winograd_kernel,
    "winograd_4": winograd_kernel,
    "scan": scan_kernel,
    "scatter": scatter_kernel,
    "sort": sort_kernel,
}
"""Builder of the loops of kernels, by form."""

SINGLE_PASS: Final = frozenset(
    {"gather", "move", "pad", "pointwise", "rows", "scatter", "shuffle", "transpose"}
)
"""Forms with a number of operations for an element that does not grow with sizes."""

SERIAL_BYTES: Final = 1 << 14
"""Bytes that a thread reads and writes in about the time of a barrier, some tenths of a microsecond."""

SIZED_FORMS: Final[dict[str, Callable[[Host, KernelOp], None]]] = {
    "convolution": sized_convolution_kernel,
    "depthwise": sized_depthwise_kernel,
    "gather": sized_gather_kernel,
    "pool": sized_pool_kernel,
    "resample": sized_resize_kernel,
}
"""The same for sizes that are known at run time only, where that makes a difference."""


@dataclass(frozen=True)
class ConvertToLoopsPass(ModulePass):
    """Make a function of loops for each kernel.

    Buffers are passed to the function: inputs, then outputs, then constants, which are packed as the kernels read them.

    Before:

    ```mlir
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = native.kernel "pointwise"(%x) : (tensor<4xf32>) -> tensor<4xf32> { ... edge.relu ... }
      func.return %0 : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func private @pointwise_0(%0: memref<?xf32>, %1: memref<?xf32>) {
      scf.parallel (%i) = (%c0) to (%n) step (%c64) { ... }
    }
    func.func @forward(%x: memref<4xf32>, %0: memref<4xf32>) {
      func.call @pointwise_0(...)
      func.return
    }
    ```
    """

    name = "convert-to-loops"

    instruction_set: str = "x86-64-v4"
    """The level of the architecture that tiles are chosen for: x86-64-v4, x86-64-v3 or aarch64."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = loops_of(op, INSTRUCTION_SETS[self.instruction_set]).module
        old = op.body.detach_block(0)
        old.erase(safe_erase=False)
        block = made.body.detach_block(0)
        op.body.add_block(block)


@dataclass(frozen=True)
class Loops:
    """A partition as loops, and the constants that they read."""

    module: ModuleOp
    host: Host
    calls: list[tuple[str, int]]
    """Name and number of the kernel that each call is of; copies of results come after the last kernel."""
    values: list[tuple[int, SSAValue, int]]
    """Number of the kernel, and bytes of the memory, of each result that is kept."""


def loops_of(
    module: ModuleOp,
    target: InstructionSet,
    packed: Packed | None = None,
    *,
    keep: bool = False,
    in_place: Sequence[int] = (),
) -> Loops:
    """A new module with the kernels of the method of `module`, which stays as it is.

    `packed` keeps the packed constants, which are the same for all instruction sets. With `keep`, the results of all
    kernels but transpositions are arguments behind the outputs, so that nothing overwrites them. The memory of the
    outputs whose numbers are `in_place` holds what kernels replace elements of.
    """
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    block = function.body.block
    known = Known(block.args)
    ranges = method_ranges(function)
    host = Host(
        module,
        function.sym_name.data,
        max(target.lanes, 4),  # scalars are what is left of the shortest vectors: lower-vectors
        target.registers,
        known,
        ranges,
        {} if packed is None else packed,
        small=target.small,
        dual_products=target.dual_products,
        fine=target.fine,
        large_stack=target.large_stack,
    )
    for word in known.words:
        host.word(word)
    end = block.last_op
    assert isinstance(end, ReturnOp)
    for argument in block.args:
        if is_tensor(argument.type):
            host.argument(argument, host.type_of(argument))
        else:
            host.unread()
    host.in_place.update(end.arguments[number] for number in in_place)
    kept = (
        [(number, value) for number, value in _results(block) if value not in host.in_place] if keep else []
    )
    outputs: list[tuple[SSAValue, SSAValue]] = []
    held = {value for _, value in kept}
    for value in end.arguments:
        fresh = isinstance(value.owner, KernelOp) and value not in held
        made = host.argument(value if fresh else None, host.type_of(value))
        outputs.append((value, made))
        held.add(value)
    values: list[tuple[int, SSAValue, int]] = []
    for number, value in kept:
        type = host.type_of(value)
        host.argument(value, type)
        values.append((number, value, prod(type.get_shape()) * nbytes(type.element_type)))
    kernels: list[int] = []
    number = 0
    for op in block.ops:
        _convert(host, op)
        kernels += [number] * (len(host.called) - len(kernels))
        number += isinstance(op, KernelOp)
    for value, argument in outputs:
        buffer = host.buffer(value)
        if buffer is not argument:
            copy_kernel(host, buffer, argument, count_of(value))
    kernels += [number] * (len(host.called) - len(kernels))
    return Loops(host.finish(), host, list(zip(host.called, kernels, strict=True)), values)


def _results(block: Block) -> list[tuple[int, SSAValue]]:
    """The results of kernels, with the numbers of these; a transposition computes nothing."""
    kernels = [op for op in block.ops if isinstance(op, KernelOp)]
    return [
        (number, result)
        for number, op in enumerate(kernels)
        if op.form.data != "transpose"
        for result in op.outputs
    ]


def _convert(host: Host, op: Operation) -> None:
    match op:
        case KernelOp():
            forms = FORMS if op.has_fixed_sizes() else {**FORMS, **SIZED_FORMS}
            host.serial = _is_serial(host, op)
            host.module_path = _module_path(op)
            forms[op.form.data](host, op)
            host.serial, host.module_path = False, ""
        case GetOp():
            _constant(host, op)
        case ViewOp():
            host.hold(op.result, host.buffer(op.source))
        case ReturnOp():
            pass
        case _ if is_copied(op) or is_statement(op):
            pass  # Sizes: kernels know those of their operands.
        case _:
            raise PassReport(
                "kernels cannot be converted",
                [diagnose(op, f"'{op.name}' is in no kernel", "run form-kernels and assign-layouts first")],
            )


def _module_path(kernel: KernelOp) -> str:
    """The innermost module of a kernel: that of its weights, where it also has what follows their layer."""
    paths = [path for op in kernel.body.walk() if (path := module_path(op.location))]
    return max(paths, key=lambda path: path.count("."), default="")


def _is_serial(host: Host, kernel: KernelOp) -> bool:
    """Whether threads would wait for each other as long as one of them takes for all of a kernel.

    It goes over its elements once, and they are few.
    """
    form = kernel.form.data
    if form not in SINGLE_PASS or host.small or host.fine:
        return False
    inputs = [value for value, _ in kernel.tensors()]
    outputs = list(kernel.outputs)
    if form == "scatter" and set(outputs) <= host.in_place:
        inputs, outputs = inputs[1:], []
    elif form in ("gather", "move"):
        inputs = inputs[1:] + outputs
    total = sum(host.most(count_of(value)) * nbytes(element_of(value)) for value in (*inputs, *outputs))
    return total <= SERIAL_BYTES


def _constant(host: Host, op: GetOp) -> None:
    """A constant as it is in the program: packed ones are asked for by the kernels that read them."""
    if all(
        isinstance(use.operation, KernelOp) and is_read_packed(use.operation, use.index)
        for use in op.result.uses
    ):
        return
    symbol = host.symbols.constant_of(op.result)
    assert symbol is not None
    assert isinstance(symbol.value, DataAttr)
    count = host.most(count_of(op.result))
    host.hold(op.result, host.constant(symbol.value.blob, count, element_of(op.result)))
