"""Step templates: what is left of a prepared step without the memory of its arguments.

A kernel prepares the step of a call from shapes, layouts, types and numbers. A call whose arguments differ in their
bytes alone has the same step on other bytes, and so has the call in another method with the same plan. A template
is made from a step once, and bound to tensors as often as needed:

    (np.add, (a.array, b.array[:2], two))    ->    (np.add, (array 0, bytes 0 to 8 of 1, two))

Arrays of a step are those of the tensors, views of their bytes, working memory, data derived from constants, which
nothing writes, or arrays of the step's own, of which each binding gets a copy unless they are read-only. Tuples, lists,
partial functions, closures and objects of the kernels are made again if they hold any of these. A step that holds
anything else, such as the context that it was prepared in, has no template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from operator import itemgetter
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from et_vm.step import NOTHING
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_vm.kernels.registry import Scratch
    from et_vm.step import Step

__all__ = ["StepTemplate", "template_of"]

_Values: TypeAlias = list[Any]
_Make: TypeAlias = Callable[[_Values], object]

_IMMUTABLE: tuple[type, ...] = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    slice,
    range,
    Enum,
    type,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    ModuleType,
    np.dtype,
    np.generic,
    np.ufunc,
    type(np.copyto),
)
_KERNELS = "et_vm.kernels.portable."
"""Modules whose classes have no state but their attributes."""


class StepTemplate:
    """A step as a function of the tensors of its call.

    `derived` is the data derived from constants that the call keeps, by the keys of `PrepareContext.memo`; `scratch`
    the bytes of working memory that it uses.
    """

    __slots__ = ("_arguments", "_function", "_makes", "_own", "derived", "scratch")

    def __init__(
        self,
        own: Sequence[object],
        makes: Sequence[_Make],
        function: int,
        arguments: Sequence[int],
        derived: Sequence[tuple[object, object]],
        scratch: int,
    ) -> None:
        self._own = own
        self._makes = makes
        self._function = function
        self._arguments = _picked(arguments)
        self.derived = derived
        self.scratch = scratch

    def bind(self, tensors: Sequence[Tensor], scratch: Array) -> Step:
        """The step for other tensors that are like those of the template. `scratch` is working memory of at least the
        bytes that it uses.
        """
        steps: list[Step] = [NOTHING]
        self.bind_all(steps, (0,), (range(len(tensors)),), tensors, scratch)
        return steps[0]

    def bind_all(
        self,
        steps: list[Step],
        calls: Iterable[int],
        named: Iterable[Sequence[int]],
        registers: Sequence[object],
        scratch: Array,
    ) -> None:
        """Put the steps of `calls` into `steps`, which `bind` makes for the tensors that are `named` for each."""
        held = cast("Sequence[Tensor]", registers)
        own, makes, function, arguments = self._own, self._makes, self._function, self._arguments
        for index, numbers in zip(calls, named, strict=True):
            values: _Values = [held[at].array for at in numbers]
            values += own
            if makes:
                values += ([held[at] for at in numbers], scratch)
                for make in makes:
                    values.append(make(values))
            steps[index] = values[function], arguments(values)


class _NothingTemplate(StepTemplate):
    """The template of NOTHING, which loops know by its identity."""

    __slots__ = ()

    def bind_all(
        self,
        steps: list[Step],
        calls: Iterable[int],
        named: Iterable[Sequence[int]],
        registers: Sequence[object],
        scratch: Array,
    ) -> None:
        for index in calls:
            steps[index] = NOTHING


def template_of(
    step: Step,
    tensors: Sequence[Tensor],
    scratch: Scratch,
    derived: Sequence[tuple[object, object]] = (),
) -> StepTemplate | None:
    """The template of a step that was prepared for a call with these `tensors`, which have data and are all different;
    None if it holds what cannot be bound again. `derived` is what the call keeps of data derived from constants.
    """
    if step is NOTHING:
        return _NothingTemplate([], [], 0, (), derived, 0)
    try:
        return _Dissection(tensors, scratch, derived).template(step)
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """A step holds an object of which it is not known what that depends on."""


@dataclass(eq=False, slots=True)
class _Part:
    """An object of a step: an array of a tensor if it has a `place`, made of other `parts` if there is a `make`, which
    is given the places of these, else shared by all bindings.
    """

    value: object = None
    make: Callable[[Sequence[int]], _Make] | None = None
    parts: Sequence[_Part] = ()
    place: int = -1

    @property
    def is_shared(self) -> bool:
        return self.make is None and self.place < 0


class _Dissection:
    """Takes one step apart."""

    def __init__(
        self, tensors: Sequence[Tensor], scratch: Scratch, derived: Sequence[tuple[object, object]]
    ) -> None:
        self._count = len(tensors)
        self._used = scratch.used
        self._derived = derived
        self._tensors, self._scratch = _Part(), _Part()
        self._parts: dict[int, _Part | None] = {}
        """By identity; None for an object that is being taken apart."""
        self._alive: list[object] = []
        for _, value in derived:
            self._share(value)
        for at, tensor in enumerate(tensors):
            self._parts[id(tensor.array)] = _Part(place=at)
            self._parts[id(tensor)] = _Part(make=partial(_item, at), parts=[self._tensors])
        self._spans = [
            (*byte_bounds(tensor.storage), _Part(make=partial(_storage, at), parts=[self._tensors]))
            for at, tensor in enumerate(tensors)
            if tensor.storage is not None and tensor.storage.size
        ]
        if scratch.buffer.size:
            self._spans.append((*byte_bounds(scratch.buffer), self._scratch))

    def template(self, step: Step) -> StepTemplate:
        function, arguments = step
        named = [self._part(function), *map(self._part, arguments)]
        own: list[_Part] = []
        made: list[_Part] = []
        seen: set[int] = {id(self._tensors), id(self._scratch)}

        def order(part: _Part) -> None:
            if part.place < 0 and id(part) not in seen:
                seen.add(id(part))
                for other in part.parts:
                    order(other)
                (own if part.make is None else made).append(part)

        for part in named:
            order(part)
        for place, part in enumerate((*own, self._tensors, self._scratch, *made), self._count):
            part.place = place
        return StepTemplate(
            [part.value for part in own],
            [part.make([other.place for other in part.parts]) for part in made if part.make is not None],
            named[0].place,
            [part.place for part in named[1:]],
            self._derived,
            self._used,
        )

    def _share(self, value: object) -> None:
        """Let all bindings share derived data, and what it consists of."""
        self._parts[id(value)] = _Part(value)
        if isinstance(value, Tensor):
            self._share(value.array)
        elif isinstance(value, tuple | list):
            for item in cast("Sequence[object]", value):
                self._share(item)

    def _part(self, value: object) -> _Part:
        if id(value) in self._parts:
            known = self._parts[id(value)]
            if known is None:
                raise _UnknownError
            return known
        self._alive.append(value)  # or another object may get its identity
        self._parts[id(value)] = None
        found = self._parts[id(value)] = self._dissected(value)
        return found

    def _dissected(self, value: object) -> _Part:
        if isinstance(value, _IMMUTABLE):
            return _Part(value)
        if isinstance(value, np.ndarray):
            return self._array(cast("Array", value))
        if isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            kind = type(items)
            if kind is not tuple and not hasattr(kind, "_fields"):
                raise _UnknownError
            return self._made(items, _tuple if kind is tuple else partial(_named_tuple, kind), items)
        if type(value) is list:
            return self._made(None, _list, cast("list[object]", value))
        if type(value) is dict:
            entries = cast("dict[object, object]", value)
            return self._made(None, partial(_dict, self._shared(tuple(entries))), entries.values())
        if type(value) is partial:
            whole = cast("partial[object]", value)
            make = partial(_partial, len(whole.args), tuple(whole.keywords))
            return self._made(whole, make, (whole.func, *whole.args, *whole.keywords.values()))
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, BuiltinFunctionType | MethodType):
            return self._made(value, partial(_method, value.__name__), (cast("object", value.__self__),))
        if type(value).__module__.startswith(_KERNELS):
            names = _attributes(value)
            return self._made(
                None, partial(_object, type(value), names), [getattr(value, name) for name in names]
            )
        raise _UnknownError

    def _shared(self, value: tuple[object, ...]) -> tuple[object, ...]:
        if not all(self._part(item).is_shared for item in value):
            raise _UnknownError
        return value

    def _made(
        self,
        whole: object,
        make: Callable[[Sequence[int]], _Make],
        values: Iterable[object],
    ) -> _Part:
        """What is made of `values`; the object itself, `whole`, if all bindings share these and nothing changes it."""
        parts = [self._part(value) for value in values]
        if whole is not None and all(part.is_shared for part in parts):
            return _Part(whole)
        return _Part(make=make, parts=parts)

    def _function(self, value: FunctionType) -> _Part:
        for fixed in (value.__defaults__, value.__kwdefaults__, value.__dict__ or None):
            self._shared(
                (fixed,) if fixed is None else tuple(fixed.values()) if isinstance(fixed, dict) else fixed
            )
        if value.__closure__ is None:
            return _Part(value)
        try:
            held = [cell.cell_contents for cell in value.__closure__]
        except ValueError:  # a variable without a value
            raise _UnknownError from None
        return self._made(value, partial(_closure, value), held)

    def _array(self, array: Array) -> _Part:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
            known = self._parts.get(id(root))
            if known is not None and known.is_shared:
                return _Part(array)
        if array.size:
            low, high = byte_bounds(array)
            for start, end, memory in self._spans:
                if start <= low and high <= end:
                    return _Part(make=partial(_view, array, _address(array) - start), parts=[memory])
        if root.base is not None or not root.flags.c_contiguous:
            raise _UnknownError
        if not root.flags.writeable:
            return _Part(array)
        if array is root:
            # What the first step writes there must not be in the others.
            return _Part(make=partial(_copy, array.copy()))
        return _Part(make=partial(_view, array, _address(array) - _address(root)), parts=[self._part(root)])


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _attributes(value: object) -> list[str]:
    """The names of the attributes that an object of a plain class has."""
    slots = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
    return [name for name in (*slots, *getattr(value, "__dict__", ())) if hasattr(value, name)]


def _picked(places: Sequence[int]) -> Callable[[_Values], tuple[Any, ...]]:
    """Takes the values at some places."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda values: ()
    (place,) = places
    return lambda values: (values[place],)


# What makes a part of the values before it, given the places of what it consists of


def _item(at: int, places: Sequence[int]) -> _Make:
    (tensors,) = places
    return lambda values: values[tensors][at]


def _storage(at: int, places: Sequence[int]) -> _Make:
    (tensors,) = places
    return lambda values: values[tensors][at].storage


def _view(like: Array, offset: int, places: Sequence[int]) -> _Make:
    (memory,) = places
    shape, dtype, strides, writeable = like.shape, like.dtype, like.strides, like.flags.writeable

    def make(values: _Values) -> Array:
        flat = values[memory]
        if flat.dtype != np.uint8 or flat.ndim != 1:
            flat = flat.reshape(-1).view(np.uint8)
        made: Array = np.ndarray(shape, dtype, flat, offset, strides)
        if not writeable:
            made.flags.writeable = False
        return made

    return make


def _copy(pristine: Array, places: Sequence[int]) -> _Make:
    return lambda values: pristine.copy()


def _tuple(places: Sequence[int]) -> _Make:
    return _picked(places)


def _list(places: Sequence[int]) -> _Make:
    pick = _picked(places)
    return lambda values: list(pick(values))


def _named_tuple(kind: type[tuple[object, ...]], places: Sequence[int]) -> _Make:
    pick = _picked(places)
    new = cast("Callable[[type, Iterable[object]], object]", tuple.__new__)  # pyright: ignore[reportUnknownMemberType]
    return lambda values: new(kind, pick(values))


def _dict(keys: Sequence[object], places: Sequence[int]) -> _Make:
    pick = _picked(places)
    return lambda values: dict(zip(keys, pick(values), strict=True))


def _partial(count: int, keywords: Sequence[Any], places: Sequence[int]) -> _Make:
    pick, end = _picked(places), 1 + count
    if not keywords:
        return lambda values: partial(*pick(values))

    def make(values: _Values) -> object:
        items = pick(values)
        return partial(*items[:end], **dict(zip(keywords, items[end:], strict=True)))

    return make


def _closure(function: FunctionType, places: Sequence[int]) -> _Make:
    pick = _picked(places)

    def make(values: _Values) -> object:
        cells = tuple([CellType(value) for value in pick(values)])
        made = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, cells
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    return make


def _method(name: str, places: Sequence[int]) -> _Make:
    (owner,) = places
    return lambda values: getattr(values[owner], name)


def _object(kind: type[object], names: Sequence[str], places: Sequence[int]) -> _Make:
    pick = _picked(places)

    def make(values: _Values) -> object:
        made: object = object.__new__(kind)
        for name, value in zip(names, pick(values), strict=True):
            object.__setattr__(made, name, value)
        return made

    return make
