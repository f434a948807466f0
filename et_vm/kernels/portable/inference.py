"""Result shapes and element types, by the operator library's inference rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from et_ops.dtypes import DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Rule
from et_schema.program import MAX_RANK
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import (
    check_kinds,
    check_same_type,
    check_type,
    describe,
)
from et_vm.kernels.portable.promotion import DTYPES, SCALAR_TYPES, dtype_of
from et_vm.kernels.registry import Prepare, PrepareContext, parameters_of
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor, addresses

__all__ = ["infer", "inferred"]

Check = Callable[..., None]
"""From context, element type of a result, its tensor, and its name as `arg`. Raises a trap if it does not fit."""

_P = TypeVar("_P", bound=Prepare)
_TENSORS = frozenset({"Tensor", "TensorList"})


def infer(
    ctx: PrepareContext, rule: Rule, names: Sequence[str], arguments: Sequence[object]
) -> Sequence[Meta]:
    """The results that a rule infers from the arguments of a call, `names` for messages. Element types among the
    arguments are `DType`.

    Raises Trap for arguments that the rule refuses, and where a size is negative or cannot be told.
    """
    found = _results(ctx, rule, [_operand(value) for value in arguments], names, arguments)
    return [result for result in found if result is not None]


def _results(
    ctx: PrepareContext,
    rule: Rule,
    operands: Sequence[object],
    names: Sequence[str],
    arguments: Sequence[object],
) -> Sequence[Meta | None]:
    try:
        found = rule(*operands)
    except Mismatch as error:
        raise ctx.error(str(error)) from None
    except ValueError as error:
        raise _refused(ctx, str(error), names, arguments) from None
    results = (found,) if isinstance(found, Meta) else found
    if results is None or isinstance(results, DType):
        raise _refused(ctx, "there is no result of such types", names, arguments)
    for result in results:
        if result is None:
            continue
        shape = result.shape
        negative = any(size < 0 and size != UNKNOWN for size in shape)
        if negative or len(shape) > MAX_RANK or not addresses(shape, 1):
            raise _refused(ctx, f"the result would have the shape {list(result.shape)}", names, arguments)
    return results


def _operand(value: object) -> object:
    if isinstance(value, Tensor):
        dtype = DTYPES.get(value.scalar_type)
        return Meta(value.sizes, dtype_of(value.scalar_type) if dtype is None else dtype)
    if isinstance(value, list):
        items = cast("list[object]", value)
        known = UNKNOWN not in items and items and isinstance(items[0], int)
        return items if known else [_operand(item) for item in items]
    # Rules take the least number for one that is not known: the next means the same to all of them.
    return UNKNOWN + 1 if isinstance(value, int) and value == UNKNOWN else value


def _refused(ctx: PrepareContext, why: str, names: Sequence[str], arguments: Sequence[object]) -> Exception:
    got = ", ".join(
        f"argument '{name}': {_shown(value)}" for name, value in zip(names, arguments, strict=False)
    )
    return ctx.error(f"{why}; {got}")


def _shown(value: object) -> str:
    if isinstance(value, Tensor):
        return describe(value)
    return (
        f"[{', '.join(map(_shown, cast('list[object]', value)))}]" if isinstance(value, list) else str(value)
    )


def inferred(
    rule: Rule,
    *,
    kinds: Sequence[int] = (),
    same_type: bool = False,
    check: Check = check_type,
    outs: int = 1,
    empty: bool = False,
) -> Callable[[_P], _P]:
    """Let `rule` check a kernel's arguments and shape its results: the last `outs` arguments, or the tensors of the
    list that the last one is.

    The decorated function is called with results of their shapes if there is an element to compute, or always if it
    works for results that are `empty`; it may refuse no more than numbers. Before it, the first tensor (the result of
    an operator that takes none) must be of one of `kinds`, if any are given; with `same_type` all tensors among the
    arguments have the type of the first. Each result passes `check` with the type that the rule says; one that is
    not asked for is left as it is. The step resizes a result of which the rule does not know the shape. An operator
    whose out variant has no `dtype`, as the result states it, has a rule that takes it.
    """

    def wrap(prepare: _P) -> _P:
        params = list(parameters_of(prepare) or ())
        names = [param.name for param in params]
        given, results = names[:-outs], names[-outs:]
        typed = [at for at, name in enumerate(given) if name.endswith("dtype")]
        stated = None if typed else _place_of_dtype(rule)
        single = outs == 1 and "Tensor" in params[-1].kinds
        tensors = [at for at in range(len(given)) if params[at].kinds & _TENSORS]

        @functools.wraps(prepare)
        def shaped(ctx: PrepareContext, *arguments: object) -> Step:
            values = list(arguments[:-outs])
            if kinds or same_type:
                at = tensors[0] if tensors else -1
                first = cast("Tensor", arguments[at])
                if kinds:
                    check_kinds(ctx, first.scalar_type, kinds, arg=names[at])
                if same_type:
                    for at in tensors[1:]:
                        check_same_type(ctx, first, (given[at], cast("Tensor | None", values[at])))
            values = [_operand(value) for value in values]
            for at in typed:
                values[at] = _dtype(values[at])
            if stated is not None:
                values.insert(stated, DTYPES.get(cast("Tensor", arguments[-1]).scalar_type))
            metas = _results(ctx, rule, values, given, arguments)
            if single:
                target, (meta,) = cast("Tensor", arguments[-1]), cast("Sequence[Meta]", metas)
                if target.scalar_type != SCALAR_TYPES[meta.dtype]:
                    check(ctx, SCALAR_TYPES[meta.dtype], target, arg=results[0])
                if UNKNOWN in meta.shape:
                    return prepare(ctx, *arguments)
                target.resize(meta.shape)
                return prepare(ctx, *arguments) if empty or target.array.size else NOTHING
            targets = arguments[-outs:]
            labels = results
            if isinstance(targets[0], list):
                targets = cast("list[object]", targets[0])
                labels = results * len(targets)
                good = len(targets) == len(metas)
                ctx.check(good, arg=results[0], expected=f"{len(metas)} tensors", got=len(targets))
            found = zip(labels, metas, cast("Sequence[Tensor]", targets), strict=True)
            shapes = [(label, meta, target) for label, meta, target in found if meta is not None]
            for label, meta, target in shapes:
                check(ctx, SCALAR_TYPES[meta.dtype], target, arg=label)
            for _, meta, target in shapes:
                if UNKNOWN not in meta.shape:
                    target.resize(meta.shape)
            some = empty or any(UNKNOWN in meta.shape or target.array.size for _, meta, target in shapes)
            return prepare(ctx, *arguments) if some else NOTHING

        shaped.parameters = tuple(params)  # pyright: ignore[reportAttributeAccessIssue] the verifier reads it
        shaped.rule = rule  # pyright: ignore[reportAttributeAccessIssue] a test reads which kernels have one
        return cast("_P", shaped)

    return wrap


def _place_of_dtype(rule: Rule) -> int | None:
    names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    return names.index("dtype") if "dtype" in names else None


def _dtype(value: object) -> DType | None:
    return None if value is None else dtype_of(ScalarType(cast("int", value)))
