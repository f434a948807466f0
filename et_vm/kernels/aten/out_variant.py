"""The generic kernel: shape the outputs, bind the tensors, and call the out variant."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from et_ops.inference.meta import Mismatch
from et_ops.torch_operators import check_quotients
from et_vm.kernels.aten.binding import alias, torch_dtype
from et_vm.kernels.aten.call import AtenCall
from et_vm.kernels.aten.inference import check_in_place, shape_outputs
from et_vm.kernels.aten.quick import quick_function
from et_vm.kernels.aten.schema import TorchOperator, functional, operator
from et_vm.kernels.aten.view import view_kernel
from et_vm.kernels.registry import Param, Prepare, PrepareContext
from et_vm.step import NOTHING, Step, resizing
from et_vm.values import Tensor

# The out variants of these losses resize their output on the way, or (torch 2.13) give wrong results.
_BETTER_FUNCTIONAL = frozenset(
    f"aten::{loss}.out"
    for loss in (
        "binary_cross_entropy",
        "huber_loss",
        "mse_loss",
        "multi_margin_loss",
        "smooth_l1_loss",
        "soft_margin_loss",
    )
)

# With complex matrices on the left these (torch 2.13) lose a conjugation on the way to their output.
_LOSES_CONJUGATE = frozenset({"aten::_linalg_solve_ex.result", "aten::linalg_lu_solve.out"})

# Torch 2.13 reads the statistics as if they were contiguous.
_TAKES_CONTIGUOUS = frozenset({"aten::native_layer_norm_backward.out"})


class OutVariant:
    """The kernel of one operator, a prepare function."""

    __slots__ = ("op", "parameters")

    op: TorchOperator
    parameters: tuple[Param, ...]

    def __init__(self, op: TorchOperator) -> None:
        self.op = op
        self.parameters = op.parameters

    def __call__(self, ctx: PrepareContext, *values: Any) -> Step:
        step = self._prepared(ctx, values)
        if step is NOTHING or not any(
            argument.name == "rounding_mode" and value == "trunc"
            for value, argument in zip(values, self.op.inputs, strict=False)
        ):
            return step
        dividend, divisor = (alias(one) if isinstance(one, Tensor) else one for one in values[:2])
        return _run_if_quotients_fit, (ctx, dividend, divisor, *step)

    def _prepared(self, ctx: PrepareContext, values: Sequence[Any]) -> Step:
        with torch.inference_mode():
            call = AtenCall(self.op, values)
            if not self.op.outs:
                check_in_place(ctx, call)
                positional, keywords = call.arguments(alias)
                if not _is_pointwise(self.op.overload) and call.overlaps():
                    written, *read = positional
                    call_on = functools.partial(_write_in_place, self.op.overload, read, keywords)
                    return _run_on_copies, (call_on, [written])
                return functools.partial(self.op.overload, *positional, **keywords), ()
            if not shape_outputs(ctx, call) or self.op.name in _BETTER_FUNCTIONAL | _LOSES_CONJUGATE:
                return _run_and_resize, (ctx, call)
            if ctx.meter is not None:
                # Imported here because it takes a while, and few limit the work.
                from et_vm.kernels.aten.work import units_of_work

                ctx.work(units_of_work(call))
            if not any(out.array.size for out in call.outs):
                # What random operators take is checked when they run.
                random = torch.Tag.nondeterministic_seeded in self.op.overload.tags
                return (_run_and_resize, (ctx, call)) if random else NOTHING
            return self._bound(call)

    def _bound(self, call: AtenCall) -> Step:
        outs = [alias(out) for out in call.outs]
        positional, keywords = call.arguments(alias)
        compute = functional(self.op.name)
        if not (compute is not None and _is_pointwise(compute)) and call.overlaps():
            return _run_on_copies, (functools.partial(_write_to_outs, call, positional, keywords), outs)
        if compute is not None and self.op.name in _TAKES_CONTIGUOUS:
            targets = tuple(out.copy_ for out in outs)
            return copy_results, (functools.partial(_on_contiguous, compute, positional, keywords), targets)
        if (
            compute is not None
            and not all(out.is_contiguous() for out in outs)
            and not _is_pointwise(compute)
        ):
            # Some kernels take it for granted that their output is contiguous (log_softmax in torch 2.13).
            targets = tuple(out.copy_ for out in outs)
            return copy_results, (functools.partial(compute, *positional, **keywords), targets)
        quick = quick_function(self.op.name)
        if quick is not None:
            out = outs[0] if len(outs) == 1 else tuple(outs)
            return functools.partial(quick, *positional, **keywords, out=out), ()
        return functools.partial(self.op.overload, *positional, **call.with_outs(keywords, outs)), ()


def _is_pointwise(overload: Any) -> bool:
    return torch.Tag.pointwise in overload.tags


def _on_contiguous(compute: Any, positional: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call `compute` with contiguous copies of the tensors that are not contiguous."""
    tensors = [value.contiguous() if isinstance(value, torch.Tensor) else value for value in positional]
    return compute(*tensors, **keywords)


def copy_results(compute: Callable[[], Any], targets: Sequence[Callable[[torch.Tensor], object]]) -> None:
    """Compute new tensors and hand them to the `copy_` of each output."""
    made = compute()
    results = [made] if isinstance(made, torch.Tensor) else made
    for target, result in zip(targets, results, strict=True):
        target(result)


def _run_if_quotients_fit(
    ctx: PrepareContext,
    dividend: Any,
    divisor: Any,
    function: Callable[..., object],
    arguments: Sequence[Any],
) -> None:
    try:
        check_quotients(torch, dividend, divisor)
    except Mismatch as problem:
        raise ctx.error(str(problem)) from None
    function(*arguments)


def _write_in_place(
    function: Callable[..., object],
    read: Sequence[Any],
    keywords: dict[str, Any],
    written: Sequence[torch.Tensor],
) -> None:
    function(*written, *read, **keywords)


def _write_to_outs(
    call: AtenCall, positional: Sequence[Any], keywords: dict[str, Any], outs: Sequence[torch.Tensor]
) -> None:
    call.op.overload(*positional, **call.with_outs(keywords, outs))


def _run_on_copies(
    compute: Callable[[Sequence[torch.Tensor]], object], written: Sequence[torch.Tensor]
) -> None:
    """Let `compute` write to copies of `written`. Kernels use indices that they have checked before they write, and
    more than once: a result in the same bytes would replace them by others in the meantime.
    """
    copies = [tensor.clone() for tensor in written]
    compute(copies)
    for tensor, copy in zip(written, copies, strict=True):
        tensor.copy_(copy)


@resizing
def _run_and_resize(ctx: PrepareContext, call: AtenCall) -> None:
    """Compute new tensors, give the outputs their shapes, and copy."""
    positional, keywords = call.arguments(alias)
    compute = functional(call.op.name)
    if compute is not None:
        made: Any = compute(*positional, **keywords)
        results: list[torch.Tensor] = [made] if isinstance(made, torch.Tensor) else list(made)
    else:
        results = [torch.empty(0, dtype=torch_dtype(out.scalar_type)) for out in call.outs]
        call.op.overload(*positional, **call.with_outs(keywords, results))
    for out, result in zip(call.outs, results, strict=True):
        if not torch.can_cast(result.dtype, torch_dtype(out.scalar_type)):
            raise ctx.trap(arg="out", expected=result.dtype, got=out.scalar_type.torch_name)
    for out, result in zip(call.outs, results, strict=True):
        out.resize(tuple(result.shape))
    for out, result in zip(call.outs, results, strict=True):
        if result.numel():
            alias(out).copy_(result)


def out_variant_kernel(name: str) -> Prepare:
    """The kernel for the operator `name` of torch's registry."""
    found = operator(name)
    generic = OutVariant(found)
    return view_kernel(found, generic) or generic
