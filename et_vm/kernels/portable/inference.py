"""Results' shapes and element types, by the inference rules of the operator library."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from et_ops.dtypes import DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Rule
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import (
    check_kinds,
    check_out_type,
    check_same_type,
    check_type,
    describe,
)
from et_vm.kernels.portable.promotion import DTYPES, SCALAR_TYPES, dtype_of
from et_vm.kernels.registry import NOTHING, Prepare, PrepareContext, Step, parameters_of
from et_vm.values import Tensor

__all__ = ["infer", "inferred"]

_P = TypeVar("_P", bound=Prepare)
_TENSORS = frozenset({"Tensor", "TensorList"})


def infer(
    ctx: PrepareContext, rule: Rule, names: Sequence[str], arguments: Sequence[object]
) -> Sequence[Meta]:
    """The results that a rule infers from the arguments of a call, `names` for messages. Element types among the
    arguments are `DType`.

    Raises Trap for arguments that the rule refuses, and where a size is negative or cannot be told.
    """
    return _results(ctx, rule, [_operand(value) for value in arguments], names, arguments)


def _results(
    ctx: PrepareContext,
    rule: Rule,
    operands: Sequence[object],
    names: Sequence[str],
    arguments: Sequence[object],
) -> Sequence[Meta]:
    try:
        found = rule(*operands)
    except Mismatch as error:
        raise ctx.error(str(error)) from None
    except ValueError as error:
        raise _refused(ctx, str(error), names, arguments) from None
    results = (found,) if isinstance(found, Meta) else found
    if results is None or isinstance(results, DType):
        raise _refused(ctx, "the results have no type", names, arguments)
    for result in results:
        if result.shape and min(result.shape) < 0:
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
    rule: Rule, *, kinds: Sequence[int] = (), same_type: bool = False, casts: bool = False, outs: int = 1
) -> Callable[[_P], _P]:
    """Let `rule` check a kernel's arguments and shape its results: the last `outs` arguments, or the tensors of the
    list that the last one is.

    The decorated function is called if there is an element to compute, with results of their shapes; it may refuse
    nothing. Before it, the first tensor must be of one of `kinds`, if any are given; with `same_type` all tensors
    among the arguments have the type of the first. Results have the types that the rule says, or with `casts` types
    that those cast to.
    """
    check_result = check_out_type if casts else check_type

    def wrap(prepare: _P) -> _P:
        params = list(parameters_of(prepare) or ())
        names = [param.name for param in params]
        given, results = names[:-outs], names[-outs:]
        typed = [at for at, name in enumerate(given) if name == "dtype"]
        single = outs == 1 and "Tensor" in params[-1].kinds
        tensors = [at for at in range(len(given)) if params[at].kinds & _TENSORS]

        @functools.wraps(prepare)
        def shaped(ctx: PrepareContext, *arguments: object) -> Step:
            values = list(arguments[:-outs])
            if kinds or same_type:
                first = cast("Tensor", values[tensors[0]])
                if kinds:
                    check_kinds(ctx, first.scalar_type, kinds, arg=given[tensors[0]])
                if same_type:
                    for at in tensors[1:]:
                        check_same_type(ctx, first, (given[at], cast("Tensor | None", values[at])))
            values = [_operand(value) for value in values]
            for at in typed:
                values[at] = _dtype(values[at])
            metas = _results(ctx, rule, values, given, arguments)
            if single:
                target, (meta,) = cast("Tensor", arguments[-1]), metas
                if target.scalar_type != SCALAR_TYPES[meta.dtype]:
                    check_result(ctx, SCALAR_TYPES[meta.dtype], target, arg=results[0])
                target.resize(meta.shape)
                return prepare(ctx, *arguments) if target.array.size else NOTHING
            targets = arguments[-outs:]
            labels = results
            if isinstance(targets[0], list):
                targets = cast("list[object]", targets[0])
                labels = results * len(targets)
                good = len(targets) == len(metas)
                ctx.check(good, arg=results[0], expected=f"{len(metas)} tensors", got=len(targets))
            shapes = list(zip(labels, metas, cast("Sequence[Tensor]", targets), strict=True))
            for label, meta, target in shapes:
                check_result(ctx, SCALAR_TYPES[meta.dtype], target, arg=label)
            for _, meta, target in shapes:
                target.resize(meta.shape)
            return prepare(ctx, *arguments) if any(target.array.size for *_, target in shapes) else NOTHING

        shaped.parameters = tuple(params)  # pyright: ignore[reportAttributeAccessIssue] the verifier reads it
        return cast("_P", shaped)

    return wrap


def _dtype(value: object) -> DType | None:
    return None if value is None else dtype_of(ScalarType(cast("int", value)))
