"""The `*_copy` operators: torch makes the view once, and each execution is one copy of it."""

from __future__ import annotations

from typing import Any

import torch

from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.call import AtenCall
from et_vm.kernels.aten.inference import first_line, shape_outputs
from et_vm.kernels.aten.schema import TorchOperator
from et_vm.kernels.registry import Param, Prepare, PrepareContext
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor

_WORTH_KEEPING = 1 << 12


def copy_step(source: torch.Tensor, target: torch.Tensor) -> Step:
    """The step `target.copy_(source)`; nothing when they are the same view."""
    same = (
        source.dtype == target.dtype
        and source.data_ptr() == target.data_ptr()
        and source.stride() == target.stride()
    )
    if not target.numel() or same:
        return NOTHING
    return target.copy_, (source,)


class ViewCopy:
    """The kernel of one view operator, a prepare function."""

    __slots__ = ("_generic", "_view", "op", "parameters")

    op: TorchOperator
    parameters: tuple[Param, ...]

    def __init__(self, op: TorchOperator, view: Any, generic: Prepare) -> None:
        self.op = op
        self.parameters = op.parameters
        self._view = view
        self._generic = generic

    def __call__(self, ctx: PrepareContext, *values: Any) -> Step:
        outs: list[Tensor] = values[-1] if self.op.returns_list else [values[-1]]
        source, *rest = values[: len(self.op.inputs)]
        if any(out.scalar_type != source.scalar_type for out in outs):
            return self._generic(ctx, *values)
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for value, argument in zip(rest, self.op.inputs[1:], strict=True):
            if argument.kwarg_only:
                keywords[argument.name] = value
            else:
                positional.append(value)
        with torch.inference_mode():
            # The portable kernels shape the outputs.
            shape_outputs(ctx, AtenCall(self.op, values))
            try:
                views = _listed(self._view(alias(source), *positional, **keywords))
            except RuntimeError as problem:
                # A shape that needs a copy of a tensor that is not contiguous is no view.
                if alias(source).is_contiguous() or any(arg.name == "stride" for arg in self.op.inputs):
                    raise ctx.error(first_line(problem)) from None
                return _reshaped(alias(source), alias(outs[0]))
            if source.constant and len(views) == 1 and views[0].numel() == source.numel >= _WORTH_KEEPING:
                # Rearranged once: a plain copy of 1 MB costs a tenth of a transpose.
                kept = views[0]
                if not kept.is_contiguous():
                    views = [ctx.memo(("rearranged", source.version), kept.contiguous)]
            steps = [copy_step(view, alias(out)) for view, out in zip(views, outs, strict=True)]
        wanted = tuple(step for step in steps if step is not NOTHING)
        if len(wanted) < 2:
            return wanted[0] if wanted else NOTHING
        return _run, (wanted,)


def _reshaped(source: torch.Tensor, target: torch.Tensor) -> Step:
    if target.is_contiguous():
        return copy_step(source, target.view(source.shape))
    return _copy_reshaped, (source, target)


def _copy_reshaped(source: torch.Tensor, target: torch.Tensor) -> None:
    target.copy_(source.reshape(target.shape))


def _listed(made: Any) -> list[torch.Tensor]:
    return [made] if isinstance(made, torch.Tensor) else list(made)


def _run(steps: tuple[Step, ...]) -> None:
    for fn, args in steps:
        fn(*args)


def view_kernel(op: TorchOperator, generic: Prepare) -> Prepare | None:
    """The kernel for `op` if it is the copying form of a view operator, else None."""
    namespace, _, rest = op.name.partition("::")
    name, _, overload = rest.partition(".")
    base = "view" if name == "_unsafe_view" else name.removesuffix("_copy")
    if name != "_unsafe_view" and base == name:
        return None
    packet = getattr(getattr(torch.ops, namespace), base, None)
    view_overload = overload.removesuffix("out").removesuffix("_") or "default"
    view = getattr(packet, view_overload, None) if packet is not None else None
    if view is None or not view.is_view:
        return None
    return ViewCopy(op, view, generic)
