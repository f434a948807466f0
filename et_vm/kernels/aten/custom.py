"""Operators of a user's own library, called as torch has them registered.

Where the out variant has a kernel on the CPU it writes to the method's memory itself; where only the functional form
has one, its results are copied. Shapes come from the functional form on tensors without data.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from et_schema.errors import Error
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.aten.binding import alias, meta_of, torch_dtype
from et_vm.kernels.aten.call import AtenCall
from et_vm.kernels.aten.inference import first_line
from et_vm.kernels.aten.out_variant import copy_results
from et_vm.kernels.aten.schema import TorchOperator, functional, operator
from et_vm.kernels.registry import Param, Prepare, PrepareContext
from et_vm.step import Step, resizing

__all__ = ["custom_kernel"]

_KEYS: Any = torch._C.DispatchKey  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType]
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError, NotImplementedError)


def custom_kernel(name: str) -> Prepare | None:
    """The kernel of an operator of another namespace than torch's own, if torch's registry has its out variant."""
    namespace = name.partition("::")[0]
    if namespace == "aten":
        return None
    try:
        op = operator(name)
    except AttributeError:
        return None
    return CustomVariant(op) if op.outs else None


def _functional(op: TorchOperator) -> Any | None:
    """The form of an operator that returns new tensors: an overload of it, or what is called as it without `_out`."""
    found = functional(op.name)
    if found is not None:
        return found
    namespace, _, rest = op.name.partition("::")
    # The operator is a user's: a name of its namespace is no attribute of anything else.
    packet = getattr(getattr(torch.ops, namespace), rest.partition(".")[0].removesuffix("_out"), None)
    wanted = [argument.name for argument in op.inputs]
    for which in packet.overloads() if packet is not None else ():
        overload = getattr(packet, which)
        schema = overload._schema
        if not schema.is_mutable and [argument.name for argument in schema.arguments] == wanted:
            return overload
    return None


def _is_implemented(overload: Any) -> bool:
    keys = (_KEYS.CPU, _KEYS.CompositeExplicitAutograd, _KEYS.CompositeImplicitAutograd)
    return any(overload.has_kernel_for_dispatch_key(key) for key in keys)


class CustomVariant:
    """The kernel of one operator, a prepare function."""

    __slots__ = ("_computes", "_writes", "op", "parameters")

    op: TorchOperator
    parameters: tuple[Param, ...]

    def __init__(self, op: TorchOperator) -> None:
        self.op = op
        self.parameters = op.parameters
        compute = _functional(op)
        self._computes = compute
        self._writes = _is_implemented(op.overload)

    def __call__(self, ctx: PrepareContext, *values: Any) -> Step:
        with torch.inference_mode():
            call = AtenCall(self.op, values)
            compute = (
                self._computes if self._computes is not None and _is_implemented(self._computes) else None
            )
            if not self._writes and compute is None:
                raise ctx.error(
                    "torch has no implementation of it for the CPU",
                    code=Error.NotFound,
                    hint=f'write one with torch.library.impl("{self.op.name}", "CPU")',
                )
            shapes = self._shapes(ctx, call)
            if shapes is None:
                if compute is None:
                    raise ctx.error(
                        "its result sizes are unknown before the call",
                        hint="call register_fake for its functional form, or implement it",
                    )
                return _run_and_resize, (ctx, call, compute)
            for out, shape in zip(call.outs, shapes, strict=True):
                out.resize(shape)
            outs = [alias(out) for out in call.outs]
            positional, keywords = call.arguments(alias)
            if self._writes:
                return functools.partial(self.op.overload, *positional, **call.with_outs(keywords, outs)), ()
            assert compute is not None
            return copy_results, (
                functools.partial(compute, *positional, **keywords),
                [o.copy_ for o in outs],
            )

    def _shapes(self, ctx: PrepareContext, call: AtenCall) -> list[tuple[int, ...]] | None:
        """The shapes of the results; None where only the data tells, or nothing does. Raises Trap."""
        if self._computes is None:
            # The planned sizes are right unless they are bounds.
            static = all(out.dynamism == TensorShapeDynamism.STATIC for out in call.outs)
            return [out.sizes for out in call.outs] if static else None
        positional, keywords = call.arguments(meta_of)
        try:
            made: Any = self._computes(*positional, **keywords)
        except NotImplementedError:
            return None
        except _REFUSALS as problem:
            if type(problem).__name__ in ("DynamicOutputShapeException", "DataDependentOutputException"):
                return None
            raise ctx.error(first_line(problem)) from None
        results: Sequence[torch.Tensor] = [made] if isinstance(made, torch.Tensor) else list(made)
        _check_types(ctx, call, results)
        return [tuple(result.shape) for result in results]


def _check_types(ctx: PrepareContext, call: AtenCall, results: Sequence[torch.Tensor]) -> None:
    if len(results) != len(call.outs):
        raise ctx.error(
            f"torch's operator returns {len(results)} results, but the call has {len(call.outs)} outputs"
        )
    for out, result in zip(call.outs, results, strict=True):
        if not torch.can_cast(result.dtype, torch_dtype(out.scalar_type)):
            raise ctx.trap(arg="out", expected=result.dtype, got=out.scalar_type.torch_name)


@resizing
def _run_and_resize(ctx: PrepareContext, call: AtenCall, compute: Any) -> None:
    positional, keywords = call.arguments(alias)
    made: Any = compute(*positional, **keywords)
    results: list[torch.Tensor] = [made] if isinstance(made, torch.Tensor) else list(made)
    _check_types(ctx, call, results)
    for out, result in zip(call.outs, results, strict=True):
        out.resize(tuple(result.shape))
    for out, result in zip(call.outs, results, strict=True):
        if result.numel():
            alias(out).copy_(result)
