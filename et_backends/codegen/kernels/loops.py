"""Loops over the slices of tensors: kernels that call other kernels for each slice.

A loop is a function of its own. It has the buffers of its kernels as arguments, and takes a slice by its place in the
memory of the tensor. The states are where the results are: a turn computes the next ones beside them, and copies these
there at its end.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.kernels.host import Host
from et_backends.codegen.kernels.pointwise import copy_kernel
from et_backends.codegen.sizes import count_of, shape_of
from et_ir.dialects.control import MapOp, ScanOp

__all__ = ["LOOP_FORMS", "loop_kernel", "loop_of"]

LOOP_FORMS = frozenset({"move", "pointwise", "product", "rows"})
"""Forms of the kernels that a loop may call: those that read and write tensors as they are in memory."""


def loop_of(kernel: KernelOp) -> MapOp | ScanOp:
    """The loop of a kernel of this form."""
    return next(op for op in kernel.body.block.ops if isinstance(op, MapOp | ScanOp))


def loop_kernel(host: Host, kernel: KernelOp, convert: Callable[[Host, Operation], None]) -> None:
    """Lower a kernel that is a loop; `convert` lowers each op of its body."""
    loop = loop_of(kernel)
    last = kernel.body.block.last_op
    assert isinstance(last, YieldOp)
    outside = kernel.outside()
    results = dict(zip(last.operands, kernel.outputs, strict=True))
    inner = host.nested()
    for argument, value in outside.items():
        inner.hold(argument, inner.given(host.buffer(value)))
    for op in kernel.body.block.ops:
        if op is not loop and op is not last:
            convert(inner, op)
    inits = list(loop.inits) if isinstance(loop, ScanOp) else []
    carried = list(loop.carried) if isinstance(loop, ScanOp) else []
    stacked = list(loop.stacked if isinstance(loop, ScanOp) else loop.outputs)
    states, slices = loop.body.block.args[: len(inits)], loop.body.block.args[len(inits) :]
    for init, state, result in zip(inits, states, carried, strict=True):
        buffer = host.buffer(results[result])
        copy_kernel(host, host.buffer(outside[init]), buffer, count_of(state))
        inner.hold(state, inner.given(buffer))
    end = loop.body.block.last_op
    assert end is not None
    following, items = list(end.operands[: len(inits)]), list(end.operands[len(inits) :])
    sequences = [inner.given(host.buffer(outside[value])) for value in loop.sequences]
    stacks = [inner.given(host.buffer(results[value])) for value in stacked]
    with inner.loop(shape_of(loop.sequences[0])[0]) as turn:
        for value, sequence in zip(slices, sequences, strict=True):
            inner.hold(value, inner.part(sequence, turn, count_of(value)))
        copied: list[tuple[SSAValue, SSAValue]] = []
        for value, stack in zip(items, stacks, strict=True):
            place = inner.part(stack, turn, count_of(value))
            if isinstance(value.owner, KernelOp) and not inner.is_held(value):
                inner.hold(value, place)  # computed where it belongs
            else:
                copied.append((value, place))
        for op in loop.body.block.ops:
            if op is not end:
                convert(inner, op)
        for value, place in copied:
            copy_kernel(inner, inner.buffer(value), place, count_of(value))
        # All at once: what the copies of other states would overwrite is saved before.
        computed: list[SSAValue] = []
        for value in following:
            buffer = inner.buffer(value)
            if not isinstance(value.owner, KernelOp) and value is not states[len(computed)]:
                saved = inner.scratch(count_of(value), inner.type_of(value).element_type)
                copy_kernel(inner, buffer, saved, count_of(value))
                buffer = saved
            computed.append(buffer)
        for state, buffer in zip(states, computed, strict=True):
            if buffer is not inner.buffer(state):
                copy_kernel(inner, buffer, inner.buffer(state), count_of(state))
    host.call_nested("loop", inner)
