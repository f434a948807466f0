"""Sizes of tensors in kernels: numbers, or expressions of symbols where they are known at run time only.

Arithmetic is that of `Expression`, with the numbers among its results as such. A size that is no number is none of
them: where one is compared with 1, it is taken for larger, which is right for whatever it turns out to be as long as
all operands that step over a dimension have the same size there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from typing import Final, TypeAlias

from xdsl.ir import Block, SSAValue

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.sizes import ComputesSize
from et_ir.dialects.schema.tensors import is_tensor, sizes_of, tensor_type
from et_ops.sizes import Expression, Ranges, Undecided

__all__ = [
    "Known",
    "Size",
    "count_of",
    "extremum",
    "has_known_sizes",
    "largest",
    "least",
    "normal",
    "number_of",
    "product",
    "representative",
    "shape_of",
    "total",
]

MOST: Final = 2**62
"""The largest integer that a partition is given, by its amount."""

Size: TypeAlias = int | Expression
"""A size: a number, or an expression of the symbols of a method."""


def normal(size: Size) -> Size:
    """A number for an expression that is one."""
    if isinstance(size, int):
        return size
    number = size.constant
    return size if number is None else number


def shape_of(value: SSAValue) -> tuple[Size, ...]:
    """The sizes of a tensor. Raises ValueError where the type does not say one."""
    type = tensor_type(value)
    sizes = [size for size in sizes_of(type) if size is not None]
    if len(sizes) != type.get_num_dims():
        raise ValueError(f"{type} has a size without an expression")
    return tuple(sizes)


def has_known_sizes(value: SSAValue) -> bool:
    """Whether each size of a tensor is a number or has an expression."""
    return None not in sizes_of(tensor_type(value))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes: 1 of none."""
    found: Size = 1
    for size in sizes:
        found = found * size
    return normal(found)


def total(sizes: Iterable[Size]) -> Size:
    """The sum of sizes: 0 of none."""
    found: Size = 0
    for size in sizes:
        found = found + size
    return normal(found)


def extremum(choose: Callable[[int, int], int], a: Size, b: Size) -> Size:
    """The larger of two sizes where `choose` is `max`, the smaller one where it is `min`."""
    if isinstance(a, int) and isinstance(b, int):
        return choose(a, b)
    a = Expression.of(a)
    return normal(a.maximum(Expression.of(b)) if choose is max else a.minimum(Expression.of(b)))


def count_of(value: SSAValue) -> Size:
    """The number of elements of a tensor."""
    return product(shape_of(value))


def largest(size: Size, ranges: Ranges) -> int | None:
    """The upper bound of a size, None where there is none."""
    return size if isinstance(size, int) else size.interval(ranges).most


def least(size: Size, ranges: Ranges) -> int:
    """The lower bound of a size."""
    return size if isinstance(size, int) else max(size.interval(ranges).least or 0, 0)


@lru_cache(maxsize=4096)
def representative(size: Size) -> int:
    """A number in the place of a size: sizes that differ have different ones, and so do their products.

    Symbols are large primes, by their names.
    """
    if isinstance(size, int):
        return size
    return size.evaluate({name: _prime(name) for name in size.symbols})


@cache
def _prime(name: str) -> int:
    """A prime of some 60 bits."""
    number = int.from_bytes(sha256(name.encode()).digest()[:7], "little") | 1 << 55 | 1
    while not _is_prime(number):
        number += 2
    return number


def _is_prime(number: int) -> bool:
    """The test of Miller and Rabin, which is exact for numbers of 64 bits with these bases."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True


def number_of(value: SSAValue, given: Mapping[SSAValue, Expression]) -> Expression | None:
    """The expression of an integer, with those given for what it is computed of; None where there is none."""
    owner = value.owner
    if value in given:
        return given[value]
    if isinstance(owner, Block):
        return None
    computes = owner.get_trait(ComputesSize)
    if computes is None:
        return size_of(value)
    operands = [number_of(operand, given) for operand in owner.operands]
    found = [operand for operand in operands if operand is not None]
    try:
        return computes.expression(owner, found) if len(found) == len(operands) else None
    except Undecided:
        return None


def _bounds_of_number(value: SSAValue) -> tuple[int, int]:
    """The integers that an input can be: a place of each dimension that it selects from."""
    least, most = -MOST, MOST
    for use in value.uses:
        op = use.operation
        if isinstance(op, SchemaOp) and op.name == "edge.select_copy.int":
            source = op.operands[0]
            size = shape_of(source)[int(op.arg("dim")) % tensor_type(source).get_num_dims()]
            if isinstance(size, int):
                least, most = max(least, -size), min(most, size - 1)
    return least, most


class Known:
    """Sizes of inputs, and numbers, that a partition is told when it is called, as symbols of its own.

    A size of an input that is a symbol of the method tells that symbol. One that is an expression is a symbol too, for
    the expression as it is, and for the method's symbol where the expression is linear in it and has no other.
    """

    def __init__(self, inputs: Sequence[SSAValue]):
        self.words: dict[str, tuple[int, int | None]] = {}
        """The input and dimension that each symbol is the size of; no dimension where it is the number itself."""
        self.numbers: dict[SSAValue, Expression] = {}
        """The symbols of inputs that are integers."""
        self._expressions: dict[Expression, Expression] = {}
        self._symbols: dict[str, Expression] = {}
        found: list[tuple[Expression, int, int]] = []
        for number, value in enumerate(inputs):
            if not is_tensor(value.type):
                name = f"w{len(self.words)}"
                self.words[name] = (number, None)
                self.numbers[value] = Expression.of(name)
                self._symbols[name] = Expression.of(name)
                continue
            for dim, size in enumerate(shape_of(value)):
                if isinstance(size, Expression):
                    found.append((size, number, dim))
        # Symbols alone first, then what has most symbols last: an expression of known ones needs no word.
        found.sort(key=lambda one: (one[0].symbol is None, len(one[0].symbols)))
        for size, number, dim in found:
            try:
                self.told(size)
            except ValueError:
                self._learn(size, number, dim)

    def _learn(self, size: Expression, number: int, dim: int) -> None:
        name = f"w{len(self.words)}"
        word = Expression.of(name)
        self.words[name] = (number, dim)
        self._expressions[size] = word
        if size.symbol is not None:
            self._symbols[size.symbol] = word
            return
        unknown = size.symbols - set(self._symbols)
        if len(unknown) == 1 and size.is_polynomial:
            (symbol,) = unknown
            alone = Expression.of(symbol)
            slope, rest = 0, Expression.of(0)
            for monomial, factor in size.terms:
                if monomial == (symbol,):
                    slope = factor
                elif symbol in monomial:
                    return
                else:
                    rest = rest + Expression({monomial: factor})
            if slope > 0 and not rest.symbols - set(self._symbols):
                self._symbols[symbol] = (word - rest.substituted(self._symbols)) // slope
                assert alone.symbols <= set(self._symbols)

    def told(self, size: Size) -> Size:
        """A size as an expression of the words. Raises ValueError for one that they do not tell."""
        if isinstance(size, int):
            return size
        found = self._expressions.get(size)
        if found is not None:
            return normal(found)
        if size.symbols <= set(self._symbols):
            return normal(size.substituted(self._symbols))
        for one, word in self._expressions.items():
            rest = size.divided_by(one)
            if rest is not None and one.symbol is None and rest != size:
                return normal(word * self.told(normal(rest)))
        raise ValueError(f"no input tells the size {size}")

    def ranges(self, inputs: Sequence[SSAValue], ranges: Ranges) -> Mapping[str, tuple[int, int]]:
        """The least and the largest number that each word can be. Raises ValueError for one without a bound."""
        found: dict[str, tuple[int, int]] = {}
        for name, (number, dim) in self.words.items():
            if dim is None:
                found[name] = _bounds_of_number(inputs[number])
                continue
            size = shape_of(inputs[number])[dim]
            assert isinstance(size, Expression)
            least, most = size.interval(ranges)
            if most is None:
                raise ValueError(f"the size {size} has no upper bound")
            found[name] = (max(least or 0, 0), most)
        return found
