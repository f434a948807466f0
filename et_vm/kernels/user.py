"""Kernels of one's own: `@kernel("mylib::scale.out")` on a Python function.

A plain function computes with arrays and writes into its outputs, which are its keyword-only parameters::

    @kernel("mylib::scale.out")
    def scale_out(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
        np.multiply(x, by, out=out)

Its parameters are those of the operator's out variant, in order; arrays have the logical axes of their tensors and
any strides. Where the file says that a result has the sizes of another value at run time, the kernel has to tell
them, by `shape`, a function of the same inputs::

    @kernel("mylib::scale.out", shape=lambda x, by: x.shape)

A function whose first parameter is called `ctx` is a prepare function, the form in which the VM's own kernels are
written (`et_vm.kernels.registry`): it does once per shape what need not be done in each execution, may take
scratch memory, and may give outputs sizes that depend on data.

The decorator only marks the function, which can be called and tested as before. `kernels_of` collects those of a
module as a library, which is registered as the others are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from et_schema.errors import Error, ExecutorchError
from et_schema.program import TensorShapeDynamism
from et_vm.kernels.registry import ANNOTATION_KINDS, Param, Prepare, PrepareContext, parse_annotation
from et_vm.step import Step
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelKey, KernelRegistry
    from et_vm.values import Array

__all__ = ["FunctionKernel", "KernelsOf", "kernel", "kernels_of"]

_MARK = "__et_vm_kernels__"
_ARRAY = re.compile(r"\b(?:NDArray|ndarray|Array)\b(?:\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\])?")
_SHOWN = tuple(
    name
    for name in ANNOTATION_KINDS
    if "|" not in name and name not in ("None", "Scalar") and "Tensor" not in name
)
_F = TypeVar("_F", bound=Callable[..., Any])
_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _Declared(NamedTuple):
    """One kernel that a function is marked as."""

    name: str
    prepare: Prepare
    key: KernelKey | None
    replace: bool


def kernel(
    *names: str,
    shape: Callable[..., Any] | None = None,
    key: KernelKey | None = None,
    replace: bool = False,
) -> Callable[[_F], _F]:
    """Mark a function as the kernel of operators, by the names that files give them (`mylib::scale.out`).

    Its parameters are those of the out variant, in order: arrays with the logical axes of their tensors and any
    strides, and Python values. It writes into the keyword-only ones, the outputs. `shape` gives the sizes of the output
    from the inputs, or a sequence of such for several outputs. A kernel with a `key` is for these element types and dim
    orders only. `replace` is for an operator that has a kernel already.

    Raises TypeError for a function that cannot be a kernel, and ValueError for a name that no operator has.
    """
    if not names:
        raise ValueError('a kernel needs an operator name: @kernel("mylib::scale.out")')
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('a kernel needs an operator name: @kernel("mylib::scale.out")')
        if re.fullmatch(r"\w+::\w+(?:\.\w+)?", name) is None:
            raise ValueError(f"{name!r} is not an operator name such as 'mylib::scale.out'")

    def mark(function: _F) -> _F:
        prepare = _prepare_of(function, shape)
        declared: list[_Declared] = [*getattr(function, _MARK, ())]
        declared += [_Declared(name, prepare, key, replace) for name in names]
        setattr(function, _MARK, tuple(declared))
        return function

    return mark


def _prepare_of(function: Callable[..., Any], shape: Callable[..., Any] | None) -> Prepare:
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"{_place(function)} takes *{parameter.name}: a kernel takes the parameters of the operator's out "
                "variant, one by one"
            )
    if parameters and parameters[0].name == "ctx":
        if shape is not None:
            raise TypeError(f"{_place(function)} takes ctx and resizes its outputs itself: it has no shape=")
        if any(parameter.kind not in _KINDS for parameter in parameters):
            raise TypeError(f"{_place(function)} takes ctx: its outputs come last, without '*' before them")
        return function
    return FunctionKernel(function, parameters, shape)


class FunctionKernel:
    """A plain function as a kernel."""

    __slots__ = ("_function", "_inputs", "_outs", "_shape", "parameters")

    parameters: tuple[Param, ...]

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: Sequence[inspect.Parameter],
        shape: Callable[..., Any] | None,
    ) -> None:
        """Raises TypeError for a function without outputs, or with annotations that no argument has."""
        self._function = function
        self._shape = shape
        self._inputs = tuple(p.name for p in parameters if p.kind in _KINDS)
        self._outs = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        if not self._outs:
            raise TypeError(
                f"{_place(function)} has no outputs: a kernel writes into the parameters after '*', as in "
                "def scale_out(x, by, *, out)"
            )
        self.parameters = tuple(_param(function, parameter) for parameter in parameters)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._function

    def __call__(self, ctx: PrepareContext, *values: Any) -> Step:
        count = len(self._inputs)
        inputs = [_readable(value) for value in values[:count]]
        outs = values[count:]
        self._resize(ctx, inputs, outs)
        given = {name: _writable(out) for name, out in zip(self._outs, outs, strict=True)}
        return _run, (ctx, self._function, inputs, given)

    def _resize(self, ctx: PrepareContext, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
        """Give the outputs the sizes that `shape` says. Raises Trap where that is needed and not said."""
        tensors: list[Tensor] = [
            tensor
            for out in outs
            for tensor in (cast("list[Tensor]", out) if isinstance(out, list) else [out])
        ]
        if self._shape is None:
            if any(tensor.dynamism != TensorShapeDynamism.STATIC for tensor in tensors):
                raise ctx.error(
                    "its output sizes are known only at run time, and the kernel has no shape=",
                    hint=(
                        f"{_place(self._function)}: @kernel({ctx.op!r}, shape=lambda …: …) computes them "
                        "from the inputs"
                    ),
                )
            return
        said = self._shape(*inputs)
        shapes = [said] if len(tensors) == 1 and _is_shape(said) else list(said)
        if len(shapes) != len(tensors) or not all(map(_is_shape, shapes)):
            raise ctx.error(
                f"shape= returned {said!r}, expected the sizes of {len(tensors)} outputs",
                hint=_place(self._function),
            )
        for tensor, sizes in zip(tensors, shapes, strict=True):
            tensor.resize(tuple(int(size) for size in sizes))


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(size, int) or hasattr(size, "__index__") for size in cast("Sequence[object]", value)
    )


def _run(
    ctx: PrepareContext, function: Callable[..., Any], inputs: Sequence[Any], outs: Mapping[str, Any]
) -> None:
    returned = function(*inputs, **outs)
    if returned is not None and not any(returned is out for out in outs.values()):
        raise ctx.error(
            f"the kernel returned a {type(returned).__name__}, which is ignored",
            hint=f"{_place(function)}: write the result into {', '.join(outs)}, as in {next(iter(outs))}[...] = …",
        )


def _readable(value: Any) -> Any:
    """An argument as functions take it: tensors are arrays that they cannot write to."""
    if isinstance(value, Tensor):
        array: Array = value.array.view()
        array.flags.writeable = False
        return array
    return [_readable(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _writable(value: Any) -> Any:
    return [item.array for item in cast("list[Tensor]", value)] if isinstance(value, list) else value.array


def _param(function: Callable[..., Any], parameter: inspect.Parameter) -> Param:
    annotation: Any = parameter.annotation
    if annotation is parameter.empty:
        return Param(parameter.name, frozenset(), is_float=False)
    text = (
        annotation.__name__
        if isinstance(annotation, type) and not hasattr(annotation, "__args__")
        else str(annotation)
    )
    text = _ARRAY.sub("Tensor", re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)).replace("Sequence[", "list[")
    optional = re.fullmatch(r"Optional\[(.*)\]", text)
    text = f"{optional[1]} | None" if optional is not None else text
    kinds, is_float = parse_annotation(text)
    if not kinds and "Any" not in text:
        raise TypeError(
            f"{_place(function)}: parameter {parameter.name!r} is annotated {text!r}, expected an array, a list of "
            f"arrays or one of {', '.join(_SHOWN)}"
        )
    return Param(parameter.name, kinds, is_float)


def _place(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", repr(function))
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


# -- libraries


@dataclass(frozen=True)
class KernelsOf:
    """The kernels of one module, as a library: called with a registry, it fills it."""

    module: str
    declared: tuple[_Declared, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The operators that have a kernel here."""
        return tuple(dict.fromkeys(declared.name for declared in self.declared))

    def __call__(self, registry: KernelRegistry) -> None:
        """Register the kernels. Raises ExecutorchError(RegistrationAlreadyRegistered) for an operator that has one."""
        for one in self.declared:
            try:
                registry.register(one.name, one.prepare, one.key, replace=one.replace)
            except ExecutorchError as error:
                error.hint = f"@kernel({one.name!r}, replace=True) replaces the other"
                raise
            registry.origins[one.name] = _place(getattr(one.prepare, "__wrapped__", one.prepare))


def kernels_of(module: ModuleType) -> KernelsOf:
    """The functions of a module that `@kernel` marks, imported ones among them.

    Raises ExecutorchError(RegistrationAlreadyRegistered) for two kernels of one operator and key.
    """
    found: dict[tuple[str, KernelKey | None], _Declared] = {}
    for value in vars(module).values():
        for declared in cast("tuple[_Declared, ...]", _marks(value)):
            known = found.setdefault((declared.name, declared.key), declared)
            if known.prepare is not declared.prepare:
                raise ExecutorchError(
                    Error.RegistrationAlreadyRegistered,
                    f"{module.__name__} has two kernels for it",
                    where=declared.name,
                )
    return KernelsOf(module.__name__, tuple(found.values()))


def _marks(value: object) -> Any:
    # Not of objects that answer to every name.
    return value.__dict__.get(_MARK, ()) if inspect.isfunction(value) else ()
