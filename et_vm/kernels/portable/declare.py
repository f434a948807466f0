"""Kernel declaration: `@kernel("aten::add.out")` on its prepare function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar, cast

from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import Param, Prepare, PrepareContext, parameters_of
from et_vm.step import Step
from et_vm.values import Tensor

Scalar: TypeAlias = int | float | bool
"""A torch `Scalar`. Which of the three it is takes part in type promotion."""

KERNELS: dict[str, Prepare] = {}
"""Every kernel of the families imported so far, by operator name."""

STORED: Final = frozenset(
    one
    for one in ScalarType
    if (one.is_floating and one.itemsize == 1)
    or not (one.is_floating or one.is_integral or one.is_complex or one is ScalarType.BOOL)
)
"""Element types that torch converts to others to compute: float8, of which numpy would round each step, and quantized
and packed numbers, of which it would take the integers that store them."""

_P = TypeVar("_P", bound=Prepare)


def kernel(*names: str, any_layout: bool = False, any_type: bool = False) -> Callable[[_P], _P]:
    """Declare the decorated prepare function as the kernel of the operators `names`.

    What upstream's kernels demand of every call is checked before the function is called, for what its parameters
    say that it has: flags (`non_blocking`, `implicit`) are off, a `memory_format` is one, and `out` has the
    dim order of the first argument if that is a tensor of its rank, unless the operator is one that takes
    `any_layout`: of those in `aten` that upstream has kernels for, those whose kernels do not look. Tensors of the
    element types `STORED` are for those alone that take `any_type`: they move elements and do not compute with them.
    """

    def declare(prepare: _P) -> _P:
        checked = _checked(prepare, any_layout or not names[0].startswith("aten::"))
        if not any_type:
            checked = _of_computed_types(checked)
        for name in names:
            if name in KERNELS:
                raise ValueError(f"{name} is declared twice")
            KERNELS[name] = checked
        return checked

    return declare


_OFF = frozenset({"non_blocking", "implicit"})
_FORMATS = range(4)
"""Upstream's memory formats: contiguous, preserve, channels-last, channels-last in three dimensions."""
_CHANNELS_LAST = {2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}
_TENSORS = frozenset({"Tensor", "TensorList"})


def _checked(prepare: _P, any_layout: bool) -> _P:
    """`prepare` behind the checks that its parameters ask for; itself if there are none."""
    params = parameters_of(prepare) or ()
    off = [(at, param.name) for at, param in enumerate(params) if param.name in _OFF]
    layout = None if any_layout else _operand(params)
    named = [] if layout is None else [at for at, param in enumerate(params) if param.name == "memory_format"]
    if not off and layout is None:
        return prepare

    @functools.wraps(prepare)
    def check(ctx: PrepareContext, *arguments: object) -> Step:
        for at, name in off:
            ctx.check(not arguments[at], arg=name, expected="False", got=arguments[at])
        wanted: int | None = None
        for at in named:
            wanted = cast("int | None", arguments[at])
            good = wanted is None or wanted in _FORMATS
            ctx.check(good, arg="memory_format", expected="a memory format", got=wanted)
        if layout is not None:
            _check_layout(ctx, arguments[layout], arguments[-1], wanted)
        return prepare(ctx, *arguments)

    check.parameters = params  # pyright: ignore[reportAttributeAccessIssue] parameters_of reads it
    return cast("_P", check)


def _of_computed_types(prepare: _P) -> _P:
    """`prepare` behind a check that no tensor is of a type that elements are only stored in."""
    params = parameters_of(prepare) or ()
    tensors = [(at, param.name) for at, param in enumerate(params) if param.kinds & _TENSORS]
    if not tensors:
        return prepare

    @functools.wraps(prepare)
    def check(ctx: PrepareContext, *arguments: object) -> Step:
        for at, name in tensors:
            value = arguments[at]
            for one in cast("list[object]", value) if isinstance(value, list) else (value,):
                if isinstance(one, Tensor) and one.scalar_type in STORED:
                    raise ctx.trap(
                        arg=name,
                        expected="an element type that kernels compute in",
                        got=one.scalar_type.torch_name,
                        hint="convert it to float32 before",
                    )
        return prepare(ctx, *arguments)

    check.parameters = params  # pyright: ignore[reportAttributeAccessIssue] parameters_of reads it
    return cast("_P", check)


def _operand(params: Sequence[Param]) -> int | None:
    """The parameter whose layout `out`, the last one, has: the first tensor; None where there is no such pair."""
    tensors = [at for at, param in enumerate(params) if param.kinds & _TENSORS]
    if len(tensors) < 2 or tensors[-1] != len(params) - 1:
        return None
    return None if any(param.name == "dim_order" for param in params) else tensors[0]


def _check_layout(ctx: PrepareContext, operand: object, out: object, memory_format: int | None) -> None:
    operand, out = _first(operand), _first(out)
    if not isinstance(operand, Tensor) or not isinstance(out, Tensor):
        return
    said = _CHANNELS_LAST.get(memory_format or 0)
    if said is not None:
        ctx.check(
            out.dim_order == said, arg="memory_format", expected="the format of 'out'", got=memory_format
        )
        return
    same = operand.dim_order == out.dim_order or len(operand.sizes) != len(out.sizes)
    if not same and not (memory_format == 0 and out.dim_order == tuple(range(len(out.sizes)))):
        raise ctx.trap(arg="out", expected=f"dim order {list(operand.dim_order)}", got=list(out.dim_order))


def _first(value: object) -> object:
    return next(iter(cast("list[object]", value)), None) if isinstance(value, list) else value
