"""The generic kernel: infer shapes on the meta device, bind the tensors, and call the out variant.

Torch reaches one C++ function by several Python doors. ``torch.ops`` is always open but takes 1.7 us to
parse a call; the functions of the ``torch`` module parse theirs in 0.7 us. Which function leads to which
overload is nowhere written down, so it is tried: the function of the operator's name is called on meta
tensors, and used from then on if exactly the wanted overload arrives at the dispatcher.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from et_schema.errors import Error
from et_vm.kernels.aten.binding import alias, meta_of, torch_dtype, zeros_of
from et_vm.kernels.aten.schema import Argument, Operator, functional, operator
from et_vm.kernels.aten.view import first_line, view_kernel
from et_vm.kernels.registry import NOTHING, Param, Prepare, PrepareContext, Step
from et_vm.values import Tensor

_MEMORY_FORMATS = {
    0: torch.contiguous_format,
    1: torch.preserve_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
}


def convert(value: Any, argument: Argument, tensor: Callable[[Tensor], torch.Tensor]) -> Any:
    """An argument as torch takes it: tensors through ``tensor``, numbers that stand for types as the types."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        return tensor(value)
    if argument.type.startswith("List[") and "Tensor" in argument.type:
        return [None if item is None else tensor(item) for item in value]
    if argument.type == "ScalarType":
        return torch_dtype(value)
    if argument.type == "MemoryFormat":
        return _MEMORY_FORMATS[value]
    return value


def _is_default(value: Any, argument: Argument) -> bool:
    return argument.has_default and type(value) is type(argument.default) and value == argument.default


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


# On the meta device these give saved statistics and the like a shape that they have on other devices than the
# CPU.
_META_DIFFERS = frozenset(
    {
        "aten::_embedding_bag_forward_only.out",
        "aten::_native_batch_norm_legit.no_stats_out",
        "aten::_native_batch_norm_legit.out",
        "aten::_native_batch_norm_legit_no_training.out",
        "aten::native_batch_norm.out",
    }
)


class _Arrivals(TorchDispatchMode):
    """Notes the overloads that arrive at the dispatcher."""

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType] unannotated
        self.overloads: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.overloads.append(func)
        return func(*args, **(kwargs or {}))


class Call:
    """The arguments of one call, in both forms: bound to memory, and without data."""

    def __init__(self, op: Operator, values: Sequence[Any]) -> None:
        self.op = op
        count = len(op.inputs)
        self.inputs = values[:count]
        self.outs: list[Tensor] = values[count] if op.returns_list else list(values[count:])

    def arguments(self, tensor: Callable[[Tensor], torch.Tensor]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments without the outputs; defaults are left out where nothing follows
        them.
        """
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        used = 0
        for value, argument in zip(self.inputs, self.op.inputs, strict=True):
            if argument.keyword:
                if not _is_default(value, argument):
                    keywords[argument.name] = convert(value, argument, tensor)
                continue
            positional.append(convert(value, argument, tensor))
            if not _is_default(value, argument):
                used = len(positional)
        return positional[:used], keywords

    def with_outs(self, keywords: dict[str, Any], outs: Sequence[torch.Tensor]) -> dict[str, Any]:
        """The keyword arguments of the overload itself, the outputs under their own names."""
        if self.op.returns_list:
            return {**keywords, self.op.outs[0].name: list(outs)}
        return {**keywords, **{a.name: out for a, out in zip(self.op.outs, outs, strict=True)}}


_HOMES = (torch, importlib.import_module("torch._C._nn"))
"""The modules with the functions that parse their arguments fast."""

_quick_functions: dict[tuple[str, ...], Callable[..., Any] | None] = {}


def _quick_function(call: Call, signature: tuple[str, ...]) -> Callable[..., Any] | None:
    """The function that leads to the operator when called with arguments of these types, if there is one."""
    key = (call.op.name, *signature)
    if key not in _quick_functions:
        name = call.op.name.partition("::")[2].partition(".")[0]
        found = (getattr(home, name, None) for home in _HOMES)
        _quick_functions[key] = next(
            (function for function in found if function is not None and _leads(function, call)), None
        )
    return _quick_functions[key]


def _leads(function: Callable[..., Any], call: Call) -> bool:
    """Whether ``function`` arrives at the dispatcher as the wanted overload."""
    positional, keywords = call.arguments(meta_of)
    outs = [torch.empty(0, dtype=torch_dtype(out.scalar_type), device="meta") for out in call.outs]
    arrivals = _Arrivals()
    try:
        with arrivals:
            function(*positional, **keywords, out=outs[0] if len(outs) == 1 else tuple(outs))
    except (TypeError, RuntimeError, IndexError, ValueError):
        return False
    return bool(arrivals.overloads) and arrivals.overloads[0] == call.op.overload


def _signature(positional: list[Any], keywords: dict[str, Any]) -> tuple[str, ...]:
    kinds = [type(value).__name__ for value in positional]
    return (*kinds, *(f"{name}:{type(value).__name__}" for name, value in sorted(keywords.items())))


def _shape_depends_on_data(op: Operator) -> bool:
    packet = op.overload.overloadpacket
    return any(torch.Tag.dynamic_output_shape in getattr(packet, name).tags for name in packet.overloads())


def infer(ctx: PrepareContext, call: Call) -> list[tuple[int, ...]] | None:
    """The shapes of the outputs, or None when they depend on data. Raises Trap when torch rejects the
    arguments.
    """
    device, stand_in = ("cpu", zeros_of) if call.op.name in _META_DIFFERS else ("meta", meta_of)
    positional, keywords = call.arguments(stand_in)
    outs = [torch.empty(0, dtype=torch_dtype(out.scalar_type), device=device) for out in call.outs]
    try:
        call.op.overload(*positional, **call.with_outs(keywords, outs))
    except NotImplementedError:
        return None
    except (RuntimeError, TypeError, ValueError, IndexError) as problem:
        if _shape_depends_on_data(call.op):
            return None
        raise ctx.error(first_line(problem), code=Error.InvalidArgument) from None
    return [tuple(out.shape) for out in outs]


class OutVariant:
    """The kernel of one operator, a prepare function."""

    __slots__ = ("op", "parameters")

    op: Operator
    parameters: tuple[Param, ...]

    def __init__(self, op: Operator) -> None:
        self.op = op
        self.parameters = op.parameters

    def __call__(self, ctx: PrepareContext, *values: Any) -> Step:
        with torch.inference_mode():
            call = Call(self.op, values)
            if not self.op.outs:
                return self._in_place(ctx, call)
            shapes = infer(ctx, call)
            if shapes is None or self.op.name in _BETTER_FUNCTIONAL:
                return _run_and_resize, (ctx, call)
            for out, shape in zip(call.outs, shapes, strict=True):
                out.resize(shape)
            if not any(out.array.size for out in call.outs):
                return NOTHING
            return self._bound(call)

    def _bound(self, call: Call) -> Step:
        outs = [alias(out) for out in call.outs]
        positional, keywords = call.arguments(alias)
        compute = functional(self.op.name)
        if (
            compute is not None
            and not all(out.is_contiguous() for out in outs)
            and not _is_pointwise(compute)
        ):
            # Some kernels take it for granted that their output is contiguous (log_softmax in torch 2.13).
            targets = tuple(out.copy_ for out in outs)
            return copy_results, (functools.partial(compute, *positional, **keywords), targets)
        if not self.op.returns_list:
            quick = _quick_function(call, _signature(positional, keywords))
            if quick is not None:
                out = outs[0] if len(outs) == 1 else tuple(outs)
                return functools.partial(quick, *positional, **keywords, out=out), ()
        return functools.partial(self.op.overload, *positional, **call.with_outs(keywords, outs)), ()

    def _in_place(self, ctx: PrepareContext, call: Call) -> Step:
        for value, argument in zip(call.inputs, self.op.inputs, strict=True):
            if argument.is_written and isinstance(value, Tensor) and value.constant:
                raise ctx.trap(arg=argument.name, expected="a mutable tensor", got="a constant")
        positional, keywords = call.arguments(meta_of)
        try:
            self.op.overload(*positional, **keywords)
        except NotImplementedError:
            pass
        except (RuntimeError, TypeError, ValueError, IndexError) as problem:
            raise ctx.error(first_line(problem), code=Error.InvalidArgument) from None
        positional, keywords = call.arguments(alias)
        return functools.partial(self.op.overload, *positional, **keywords), ()


def _is_pointwise(overload: Any) -> bool:
    return torch.Tag.pointwise in overload.tags


def copy_results(compute: Callable[[], Any], targets: Sequence[Callable[[torch.Tensor], object]]) -> None:
    """Compute new tensors and hand them to the ``copy_`` of each output."""
    made = compute()
    results = [made] if isinstance(made, torch.Tensor) else made
    for target, result in zip(targets, results, strict=True):
        target(result)


def _run_and_resize(ctx: PrepareContext, call: Call) -> None:
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
    """The kernel for the operator ``name`` of torch's registry."""
    found = operator(name)
    generic = OutVariant(found)
    return view_kernel(found, generic) or generic
