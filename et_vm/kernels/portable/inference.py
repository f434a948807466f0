"""Results' shapes and element types, by the inference rules of the operator library."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from et_ops.dtypes import DType
from et_ops.inference.meta import Meta, Mismatch, Rule
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_kinds, check_out_type, check_type, describe
from et_vm.kernels.portable.promotion import dtype_of, scalar_type_of
from et_vm.kernels.registry import NOTHING, Prepare, PrepareContext, Step, parameters_of
from et_vm.values import Tensor

__all__ = ["infer", "inferred"]

_P = TypeVar("_P", bound=Prepare)


def infer(ctx: PrepareContext, rule: Rule, names: Sequence[str], arguments: Sequence[object]) -> list[Meta]:
    """The results that a rule infers from the arguments of a call, ``names`` for messages. Element types among the
    arguments are `DType`.

    Raises Trap for arguments that the rule refuses, and where a size is negative or cannot be told.
    """
    try:
        found = rule(*map(_operand, arguments))
    except Mismatch as error:
        raise ctx.error(str(error)) from None
    except ValueError as error:
        raise _refused(ctx, str(error), names, arguments) from None
    results = [found] if isinstance(found, Meta) else found
    if not isinstance(results, list | tuple):
        raise _refused(ctx, "the results have no type", names, arguments)
    for result in results:
        if result.shape and min(result.shape) < 0:
            raise _refused(ctx, f"the result would have the shape {list(result.shape)}", names, arguments)
    return cast("list[Meta]", results)


def _operand(value: object) -> object:
    if isinstance(value, Tensor):
        return Meta(value.sizes, dtype_of(value.scalar_type))
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_operand(item) for item in items] if items and not isinstance(items[0], int) else items
    return value


def _refused(ctx: PrepareContext, why: str, names: Sequence[str], arguments: Sequence[object]) -> Exception:
    got = ", ".join(
        f"argument '{name}': {_shown(value)}" for name, value in zip(names, arguments, strict=True)
    )
    return ctx.error(f"{why}; {got}")


def _shown(value: object) -> str:
    if isinstance(value, Tensor):
        return describe(value)
    return (
        f"[{', '.join(map(_shown, cast('list[object]', value)))}]" if isinstance(value, list) else str(value)
    )


def inferred(
    rule: Rule, *, kinds: Sequence[int] = (), same_type: bool = False, casts: bool = False, outs: int = 1
) -> Callable[[_P], _P]:
    """Let ``rule`` check a kernel's arguments and shape its results: the last ``outs`` arguments, or the tensors of the
    list that the last one is.

    The decorated function is called if there is an element to compute, with results of their shapes; it may refuse
    nothing. Before it, the first tensor must be of one of ``kinds``, if any are given; with ``same_type`` all tensors
    among the arguments have the type of the first. Results have the types that the rule says, or with ``casts`` types
    that those cast to.
    """
    check_result = check_out_type if casts else check_type

    def wrap(prepare: _P) -> _P:
        names = [param.name for param in parameters_of(prepare) or ()]
        given, results = names[:-outs], names[-outs:]
        typed = [at for at, name in enumerate(given) if name == "dtype"]

        @functools.wraps(prepare)
        def shaped(ctx: PrepareContext, *arguments: object) -> Step:
            values = list(arguments[:-outs])
            for at in typed:
                values[at] = _dtype(values[at])
            if kinds or same_type:
                _check_types(ctx, given, values, kinds, same_type=same_type)
            metas = infer(ctx, rule, given, values)
            targets, labels = cast("Sequence[Tensor]", arguments[-outs:]), results
            if isinstance(targets[0], list):
                targets = cast("list[Tensor]", targets[0])
                labels = results * len(targets)
                good = len(targets) == len(metas)
                ctx.check(good, arg=results[0], expected=f"{len(metas)} tensors", got=len(targets))
            for label, meta, target in zip(labels, metas, targets, strict=True):
                check_result(ctx, scalar_type_of(meta.dtype), target, arg=label)
            for meta, target in zip(metas, targets, strict=True):
                target.resize(meta.shape)
            return prepare(ctx, *arguments) if any(target.numel for target in targets) else NOTHING

        shaped.parameters = parameters_of(prepare)  # pyright: ignore[reportAttributeAccessIssue] the verifier reads it
        return cast("_P", shaped)

    return wrap


def _dtype(value: object) -> DType | None:
    return None if value is None else dtype_of(ScalarType(cast("int", value)))


def _check_types(
    ctx: PrepareContext,
    names: Sequence[str],
    values: Sequence[object],
    kinds: Sequence[int],
    *,
    same_type: bool,
) -> None:
    first: Tensor | None = None
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, Tensor):
            continue
        if first is not None:
            check_type(ctx, first.scalar_type, value, arg=name)
            continue
        first = value
        if kinds:
            check_kinds(ctx, value.scalar_type, kinds, arg=name)
        if not same_type:
            return
