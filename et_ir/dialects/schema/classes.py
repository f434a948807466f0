"""Op classes of a dialect of operators. Each is made from its record when it is first asked for.

A program uses some thirty of a thousand operators. `OperatorClasses` is the mapping by operator name, which the
modules `et_ir.dialects.aten.ops` and `et_ir.dialects.edge.ops` also offer by class name: `aten.AddTensorOp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar, cast

from xdsl.ir import Attribute, Dialect, Operation

from et_ir.dialects.schema.operator import PURE, RANDOM, SIDE_EFFECT, OperatorOp
from et_ops import OPERATORS, Operator

__all__ = ["OperatorClasses", "OperatorDialect", "class_name", "operator_class"]

_Op = TypeVar("_Op", bound=OperatorOp)


def class_name(operator: str) -> str:
    """The class of an operator: `add.Tensor` has `AddTensorOp`, `_softmax` has `UnderscoreSoftmaxOp`."""
    namespace, dot, rest = operator.partition("._")
    if dot:
        return _camel(namespace) + class_name(f"_{rest}")
    stripped = operator.lstrip("_")
    return "Underscore" * (len(operator) - len(stripped)) + _camel(stripped) + "Op"


def _camel(text: str) -> str:
    return "".join([word[:1].upper() + word[1:] for word in text.replace(".", "_").split("_")])


class _Documentation:
    """The docstring of an op class, read when somebody asks for it: the summary, and an example that parses."""

    def __get__(self, instance: OperatorOp | None, owner: type[OperatorOp]) -> str:
        from et_ir.dialects.schema.examples import example_of
        from et_ops.summaries import operator_summary

        dialect = owner.name.partition(".")[0]
        example = example_of(dialect, owner.operator)
        return operator_summary(owner.operator) + (f"\n\n    {example}\n" if example else "")


def operator_class(
    base: type[_Op], dialect: str, operator: Operator, documentation: object, name: str, module: str
) -> type[_Op]:
    """A new op class for an operator, in a dialect whose ops have the base class `base`."""
    is_check = operator.schema_text.endswith("-> ()")
    traits = RANDOM if operator.is_random else SIDE_EFFECT if is_check else PURE
    members = {
        "__doc__": documentation,
        "__module__": module,
        "name": f"{dialect}.{operator.name}",
        "operator": operator,
        "traits": traits,
    }
    return cast("type[_Op]", type(name, (base,), members))


@cache
def _operator_by_class() -> dict[str, str]:
    return {class_name(name): name for name in OPERATORS}


class OperatorClasses(Mapping[str, type[_Op]], Generic[_Op]):
    """The op classes of a dialect by operator name, without `.default`, with the namespace where it is not `aten`."""

    def __init__(self, dialect: str, base: type[_Op], holds: Callable[[Operator], bool]):
        self.dialect = dialect
        self._base = base
        self._holds = holds
        self._made: dict[str, type[_Op]] = {}
        self._names: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> type[_Op]:
        made = self._made.get(name)
        if made is None:
            operator = OPERATORS[name]
            if not self._holds(operator):
                raise KeyError(name)
            module = f"{__name__.partition('.schema')[0]}.{self.dialect}.ops"
            documentation = _Documentation()
            made = operator_class(self._base, self.dialect, operator, documentation, class_name(name), module)
            self._made[name] = made
        return made

    def __contains__(self, name: object) -> bool:
        return name in OPERATORS and self._holds(OPERATORS[cast(str, name)])

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            self._names = tuple(name for name, one in OPERATORS.items() if self._holds(one))
        return iter(self._names)

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def of_class(self, name: str) -> type[_Op]:
        """The op class of a name such as `AddTensorOp`. Raises `AttributeError` if there is none."""
        operator = _operator_by_class().get(name)
        if operator is None or operator not in self:
            raise AttributeError(f"the dialect {self.dialect} has no op class {name}")
        return self[operator]

    def of_op(self, name: str) -> type[_Op] | None:
        """The op class of an op's full name, `aten.add.Tensor`; `None` if there is none."""
        dialect, _, operator = name.partition(".")
        return self.get(operator) if dialect == self.dialect else None


class OperatorDialect(Dialect):
    """A dialect whose operations are operators: a tool that loads it whole makes all of them."""

    def __init__(self, classes: OperatorClasses[Any], attributes: Sequence[type[Attribute]] = ()):
        super().__init__(classes.dialect, [], list(attributes))
        self._classes = classes

    @property
    def operations(self) -> Iterator[type[Operation]]:
        return iter(self._classes.values())

    def without_operations(self) -> Dialect:
        """Its attributes, for a parser that takes the op classes it meets from `OperatorClasses`."""
        return Dialect(self.name, [], list(self.attributes))
