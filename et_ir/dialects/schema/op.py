"""The base class of operations that have a PyTorch schema.

Tensor arguments are operands; literals are properties. Where a literal is known at run time only (a symbolic
size), its property holds `DYNAMIC` and its value is one of the op's *symbols*: operands after all tensor
operands, in the order in which the `DYNAMIC` marks stand in the schema's arguments.

Classes are defined by their schema alone, which costs some microseconds each; what IRDL needs (operand,
property and result definitions) is built when it is first asked for, since a program uses a few dozen of some
thousand ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Final, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, LocationAttr, TensorType, f64, i1, i64
from xdsl.ir import Attribute, Operation, OpResult, OpTraits, SSAValue, SSAValues
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    PropertyDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
)
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema.literals import (
    BOOL_LIST,
    DYNAMIC,
    DYNAMIC_ATTR,
    ELEMENT_TYPES,
    PRESENT,
    SEGMENTS,
    Value,
    attribute_of,
    fits,
    literal_of,
    present,
    segment_sizes,
)
from et_ir.dialects.schema.storage import storage_of
from et_ir.dialects.schema.tensors import may_be_equal, sizes_of
from et_ops import Arg, Operator, Schema, parse_schema

__all__ = ["DYNAMIC", "OpInfo", "SchemaOp", "compatible", "op_info"]

Argument = SSAValue | Operation | Value | Sequence["SSAValue | Operation | int | None"]
"""Argument accepted by `SchemaOp.make` for one schema argument."""


class OpInfo:
    """Facts of an op class derived from its schema, computed once per class."""

    __slots__ = (
        "defaults",
        "literals",
        "needs_segments",
        "positions",
        "schema",
        "tensors",
        "variadic_results",
    )

    def __init__(self, schema: Schema):
        self.schema = schema
        self.tensors: tuple[Arg, ...] = schema.tensor_args
        self.positions = {arg.name: index for index, arg in enumerate(self.tensors)}
        """Of each tensor argument which one it is."""
        self.literals: tuple[Arg, ...] = schema.literal_args
        self.needs_segments = any(a.type.is_list or a.type.optional for a in self.tensors)
        self.variadic_results = any(r.type.is_list for r in schema.returns)
        defaults: dict[str, Attribute] = {}
        for arg in self.literals:
            default = arg.default
            if default is not None and isinstance(default, int | float | bool | str | tuple):
                defaults[arg.name] = attribute_of(cast(Value, default), arg.type)
        self.defaults = defaults


@cache
def op_info(schema_text: str) -> OpInfo:
    """The `OpInfo` of a schema text."""
    return OpInfo(parse_schema(schema_text))


class SchemaOp(IRDLOperation):
    """An operation defined by the schema of an operator, such as `aten.relu` or `edge.add.Tensor`.

    The arguments of the schema are attributes of an op: `op.self`, `op.alpha`.
    """

    operator: ClassVar[Operator]
    traits: ClassVar[OpTraits]

    @staticmethod
    def infer(op: SchemaOp) -> Sequence[Attribute] | None:
        """The result types of an op, or `None` where the dialect has no rule for it.

        Raises `ValueError` if the operator does not take such operands.
        """
        return None

    # -- schema

    @classmethod
    def info(cls) -> OpInfo:
        """Facts derived from the schema, such as defaults."""
        cached = cls.__dict__.get("_info")
        if cached is None:
            cached = op_info(cls.operator.schema_text)
            cls._info = cached
        return cast(OpInfo, cached)

    @classmethod
    def schema(cls) -> Schema:
        """The operator's schema."""
        return cls.info().schema

    # -- construction

    def __post_init__(self) -> None:
        properties = self.properties
        for name, default in self.info().defaults.items():
            if name not in properties:
                properties[name] = default

    @classmethod
    def make(
        cls,
        *args: Any,
        result_types: Sequence[Attribute] | None = None,
        location: LocationAttr | None = None,
        **kwargs: Any,
    ) -> Self:
        """Build an op from schema arguments, given as in a call of the operator.

        Tensors are SSA values (or single-result operations), literals Python values, symbolic literals SSA
        values. Without `result_types` they are inferred; `TypeError` is raised where no rule is known or an
        argument does not fit the schema.
        """
        info = cls.info()
        schema = info.schema
        if len(args) > len(schema.args):
            raise TypeError(f"{cls.name} takes {len(schema.args)} arguments, got {len(args)}")
        values = dict(zip((a.name for a in schema.args), args, strict=False))
        values.update(kwargs)
        operands: list[SSAValue] = []
        symbols: list[SSAValue] = []
        segments: list[int] = []
        properties: dict[str, Attribute] = {}
        for arg in schema.args:
            value = values.pop(arg.name, None)
            if arg.type.is_tensor:
                before = len(operands)
                if arg.type.is_list:
                    items = cast(Sequence[Any], () if value is None else value)
                    if arg.type.element_optional:
                        properties[present(arg)] = attribute_of(
                            tuple(item is not None for item in items), BOOL_LIST
                        )
                    operands.extend(SSAValue.get(item) for item in items if item is not None)
                elif value is not None:
                    operands.append(SSAValue.get(value))
                elif not arg.type.optional:
                    raise TypeError(f"{cls.name}: missing tensor argument '{arg.name}'")
                segments.append(len(operands) - before)
                continue
            if value is None:
                if arg.name not in info.defaults and not arg.type.optional and arg.type.base != "Generator":
                    raise TypeError(f"{cls.name}: missing argument '{arg.name}'")
                continue
            properties[arg.name] = _literal(value, arg, symbols)
        if values:
            raise TypeError(f"{cls.name} has no argument '{next(iter(values))}'")
        if info.needs_segments:
            properties[SEGMENTS] = segment_sizes((*segments, len(symbols)))
        op = cls.create(
            operands=[*operands, *symbols],
            result_types=result_types or (),
            properties=properties,
            location=location,
        )
        if result_types is None:
            try:
                result_types = cls.infer(op)
                if result_types is None:
                    raise TypeError("result types cannot be inferred, pass result_types")
            except (TypeError, ValueError) as error:
                op.drop_all_references()
                raise TypeError(f"{cls.name}: {error}") from error
            op.results = SSAValues(OpResult(type, op, index) for index, type in enumerate(result_types))
        return op

    # -- access

    def _segment_sizes(self) -> Sequence[int]:
        info = self.info()
        if info.needs_segments:
            sizes = self.properties.get(SEGMENTS)
            if isinstance(sizes, DenseArrayBase):
                return cast(Sequence[int], sizes.get_values())
            # Generic text may leave the segments out when there is nothing to tell apart.
            raise VerifyException(f"[operand_c1] needs the property '{SEGMENTS}'")
        tensors = len(info.tensors)
        return [*([1] * tensors), len(self._operands) - tensors]

    def tensor_operands(self) -> list[SSAValue | tuple[SSAValue | None, ...] | None]:
        """One entry per tensor argument of the schema, in order: a value, `None`, or a tuple for a list."""
        found: list[SSAValue | tuple[SSAValue | None, ...] | None] = []
        start = 0
        for arg, size in zip(self.info().tensors, self._segment_sizes(), strict=False):
            values = tuple(self._operands[start : start + size])
            start += size
            if not arg.type.is_list:
                found.append(values[0] if values else None)
            elif arg.type.element_optional:
                rest = iter(values)
                there = cast(Sequence[bool], literal_of(self.properties[present(arg)]))
                found.append(tuple(next(rest) if here else None for here in there))
            else:
                found.append(values)
        return found

    @property
    def symbols(self) -> tuple[SSAValue, ...]:
        """The operands that stand for `DYNAMIC` marks, in order."""
        count = self._segment_sizes()[-1]
        return tuple(self._operands[len(self._operands) - count :]) if count else ()

    def arg(self, name: str) -> Any:
        """The value of a schema argument: SSA value(s) for a tensor, a Python literal or `None` otherwise.

        Lists are tuples. An entry known at run time only is its SSA value. Raises `KeyError` for an unknown
        name.
        """
        info = self.info()
        position = info.positions.get(name)
        if position is not None:
            return self.tensor_operands()[position] if info.needs_segments else self._operands[position]
        attr = self.properties.get(name)
        if attr is None:
            info.schema.by_name[name]
            return None
        value = literal_of(attr)
        if len(self._operands) == len(info.tensors) and not info.needs_segments:
            return value
        return self._with_symbols(name, value)

    def _with_symbols(self, name: str, value: Value) -> Any:
        symbols = self.symbols
        if not symbols:
            return value
        position = 0
        for arg in self.info().literals:
            attr = self.properties.get(arg.name)
            literal = None if attr is None else literal_of(attr)
            items = literal if isinstance(literal, tuple) else (literal,)
            if arg.name == name:
                rest = iter(symbols[position:])
                replaced = tuple(next(rest) if item == DYNAMIC else item for item in items)
                return replaced if isinstance(literal, tuple) else replaced[0]
            position += sum(item == DYNAMIC for item in items)
        raise KeyError(name)

    def args(self) -> dict[str, Any]:
        """All schema arguments by name, as `arg` gives them."""
        return {arg.name: self.arg(arg.name) for arg in self.info().schema.args}

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are no attribute of the class: the schema's arguments.
        if not name.startswith("__") and name in type(self).info().schema.by_name:
            return self.arg(name)
        raise AttributeError(f"'{type(self).__name__}' has no attribute or schema argument '{name}'")

    @property
    def result(self) -> SSAValue:
        """The only result. Raises `ValueError` if there are several."""
        (result,) = self.results
        return result

    # -- verification

    def verify_(self) -> None:
        """Check operands and properties against the schema, and result types where a rule infers them.

        Each rule has a label, which its message and its negative test carry:
        `operand_c1` number of operands, `operand_c2` an operand is no tensor or number, `operand_c3` the
        operator does not take operands of such types with such arguments, `property_c1` required property
        missing, `property_c2` property of the wrong kind, `property_c3` unknown property, `symbol_c1` DYNAMIC
        marks and symbols differ in number, `result_c1` number of results, `result_c2` result types differ
        from the inferred ones.
        """
        info = self.info()
        sizes = self._segment_sizes()
        if len(sizes) != len(info.tensors) + 1 or sum(sizes) != len(self._operands) or min(sizes) < 0:
            raise VerifyException(
                f"[operand_c1] schema '{info.schema.text}' does not fit {len(self._operands)} operands"
            )
        for arg, size in zip(info.tensors, sizes, strict=False):
            if not arg.type.is_list and size != 1 and not (size == 0 and arg.type.optional):
                raise VerifyException(f"[operand_c1] argument '{arg.name}' takes one tensor, got {size}")
            if arg.type.element_optional:
                self._check_present(arg, size)
        count = len(self._operands) - sizes[-1]
        for index, operand in enumerate(self._operands):
            given = operand.type
            if index < count and not is_operand(given):
                raise VerifyException(
                    f"[operand_c2] operand {index} has type {given}, expected a tensor or a number"
                )
            if index >= count and not is_number(given):
                raise VerifyException(
                    f"[operand_c2] symbol {index - count} has type {given}, expected a number"
                )
        marks = 0
        for arg in info.literals:
            attr = self.properties.get(arg.name)
            if attr is None:
                if not arg.type.optional and arg.type.base != "Generator":
                    raise VerifyException(
                        f"[property_c1] missing property '{arg.name}' of schema type {arg.type}"
                    )
                continue
            if attr is info.defaults.get(arg.name):
                continue
            marks += check_literal(arg, attr)
        if marks != sizes[-1]:
            raise VerifyException(
                f"[symbol_c1] {marks} literals are DYNAMIC, but the op has {sizes[-1]} symbols"
            )
        allowed = info.schema.by_name
        for name in self.properties:
            if name not in allowed and name != SEGMENTS and not name.endswith(PRESENT):
                raise VerifyException(f"[property_c3] '{self.name}' has no argument '{name}'")
        if not info.variadic_results and len(self.results) != len(info.schema.returns):
            raise VerifyException(
                f"[result_c1] expected {len(info.schema.returns)} results, got {len(self.results)}"
            )
        try:
            inferred = self.infer(self)
        except ValueError as error:
            raise VerifyException(f"[operand_c3] {error}") from error
        except ZeroDivisionError as error:
            raise VerifyException("[operand_c3] a size, stride or split count is 0") from error
        except IndexError as error:
            raise VerifyException(
                "[operand_c3] a tensor has too few dimensions, or a list too few items"
            ) from error
        if inferred is None:
            return
        types = tuple(result.type for result in self.results)
        if len(types) != len(inferred) or not all(map(compatible, types, inferred)):
            raise VerifyException(
                f"[result_c2] result types are {_join(types)}, expected {_join(inferred)} for these operands"
            )

    def _check_present(self, arg: Arg, size: int) -> None:
        attr = self.properties.get(present(arg))
        if attr is None or not fits(attr, BOOL_LIST):
            raise VerifyException(f"[operand_c1] list '{arg.name}' needs the property '{present(arg)}'")
        said = sum(cast("tuple[bool, ...]", literal_of(attr)))
        if said != size:
            raise VerifyException(
                f"[operand_c1] list '{arg.name}' has {size} tensors, but '{present(arg)}' states {said}"
            )

    # -- IRDL

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        """Operand, property and result definitions, as IRDL's ops have them."""
        cached = cls.__dict__.get("_op_def")
        if cached is None:
            cached = _op_def(cls)
            cls._op_def = cached
        return cast(OpDef, cached)


def is_number(type: Attribute) -> bool:
    """Whether a type is that of a Python number."""
    return type in (i64, f64, i1)


@lru_cache(maxsize=16384)
def is_operand(type: Attribute) -> bool:
    """Whether a value of a type can stand in a tensor slot.

    It is a tensor, or a Python number, which promotes there as torch's wrapped numbers do.
    """
    if isinstance(type, TensorType):
        return storage_of(cast("TensorType[Attribute]", type).element_type) in ELEMENT_TYPES.values()
    return is_number(type)


def compatible(a: Attribute, b: Attribute) -> bool:
    """Whether two types may be those of one value: memory layouts and what integers stand for aside, and a size known
    to one may be unknown to the other.
    """
    if a == b:
        return True
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return False
    ours, theirs = cast("TensorType[Attribute]", a), cast("TensorType[Attribute]", b)
    if storage_of(ours.element_type) != storage_of(theirs.element_type):
        return False
    if ours.get_num_dims() != theirs.get_num_dims():
        return False
    if not all(m == n or m < 0 or n < 0 for m, n in zip(ours.get_shape(), theirs.get_shape(), strict=True)):
        return False
    return all(map(may_be_equal, sizes_of(ours), sizes_of(theirs)))


def _join(types: Sequence[Attribute]) -> str:
    return ", ".join(str(t) for t in types) or "none"


_PLAIN: Final[frozenset[type]] = frozenset({bool, int, float, str, list, tuple})


def _literal(value: Any, arg: Arg, symbols: list[SSAValue]) -> Attribute:
    """The attribute for an argument; run-time values go to `symbols`."""
    if type(value) not in _PLAIN:  # most are: to find that by `isinstance` takes several times as long
        if isinstance(value, Operation):
            value = SSAValue.get(value)
        if isinstance(value, SSAValue):
            symbols.append(cast("SSAValue[Attribute]", value))
            return DYNAMIC_ATTR
    if arg.type.is_list and isinstance(value, list | tuple):
        items: list[Any] = []
        for item in cast(Sequence[Any], value):
            if type(item) is not int and isinstance(item, (Operation, SSAValue)):
                symbols.append(SSAValue.get(cast("Operation | SSAValue[Attribute]", item)))
                items.append(DYNAMIC)
            else:
                items.append(item)
        value = items
    try:
        return attribute_of(value, arg.type)
    except TypeError as error:
        raise TypeError(f"argument '{arg.name}': {error}") from error


def check_literal(arg: Arg, attr: Attribute) -> int:
    """Check a property against its schema type; returns how many `DYNAMIC` marks it holds.

    Raises `VerifyException` with label `property_c2`.
    """
    if attr == DYNAMIC_ATTR:
        marks = 1
    elif fits(attr, arg.type):
        value = literal_of(attr)
        marks = sum(type(v) is int and v == DYNAMIC for v in value) if isinstance(value, tuple) else 0
    else:
        raise VerifyException(f"[property_c2] '{arg.name}' is {attr}, expected schema type {arg.type}")
    if marks and not (arg.type.may_be_symbolic and arg.type.is_list == (attr != DYNAMIC_ATTR)):
        raise VerifyException(f"[property_c2] '{arg.name}' of schema type {arg.type} cannot be symbolic")
    return marks


def _op_def(cls: type[SchemaOp]) -> OpDef:
    info = cls.info()
    anything = AnyAttr()
    op_def = OpDef(cls.name)
    for arg in info.tensors:
        if arg.type.is_list:
            operand = VarOperandDef(anything)
        elif arg.type.optional:
            operand = OptOperandDef(anything)
        else:
            operand = OperandDef(anything)
        op_def.operands.append((arg.name, operand))
    op_def.operands.append(("symbols", VarOperandDef(anything)))
    for arg in info.literals:
        optional = arg.type.optional or arg.type.base == "Generator" or arg.name in info.defaults
        op_def.properties[arg.name] = (OptPropertyDef if optional else PropertyDef)(anything)
    if info.needs_segments:
        op_def.options.append(AttrSizedOperandSegments(as_property=True))
        op_def.properties[SEGMENTS] = OptPropertyDef(anything)
    for arg in info.tensors:
        if arg.type.element_optional:
            op_def.properties[present(arg)] = OptPropertyDef(anything)
    for ret in info.schema.returns:
        op_def.results.append((ret.name, VarResultDef(anything) if ret.type.is_list else ResultDef(anything)))
    op_def.traits = cls.traits
    return op_def
