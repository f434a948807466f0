"""One record per operator: its schema, and the facts that the compiler and the runtime derive their behavior from.

`schemas.txt` holds torch's functional operators that programs may hold, `extra_schemas.txt` those of other
namespaces. Each line is the functional schema, torch's tags, and the schema of the out variant, separated by tabs.
A record is made when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

from et_ops.conventions import is_in_place
from et_ops.data_files import text_of
from et_ops.fact import Facts
from et_ops.families import family_of
from et_ops.leaves import LEAVES, RUNTIME_NAMESPACES
from et_ops.schema import Schema, namespace_of, parse_schema, without_namespace

if TYPE_CHECKING:
    from et_ops.inference.meta import Rule

__all__ = [
    "EXTRA",
    "OPERATORS",
    "SNAPSHOT",
    "Operator",
    "copying_name",
    "hidden_state",
    "operator",
    "operator_of_kernel",
    "rearranging_copies",
]

_NO_FACTS: Final = Facts()
SNAPSHOT: Final = Path(__file__).with_name("schemas.txt")
EXTRA: Final = Path(__file__).with_name("extra_schemas.txt")
_KERNELS: Final = Path(__file__).with_name("kernels.txt")


@dataclass(frozen=True, eq=False)
class Operator:
    """A functional operator: one overload. There is one instance of each that the library knows."""

    namespace: str
    schema_text: str
    """The functional schema without its namespace: `add.Tensor(Tensor self, …) -> Tensor`."""
    tags: frozenset[str] = frozenset()
    """Those of torch's tags that matter here: `core`, `pointwise`, `reduction`, `view_copy`, …"""
    out_text: str = ""
    """The schema of the out variant without its namespace, empty if there is none."""

    @cached_property
    def overload_name(self) -> str:
        """`add.Tensor`; `relu` for a default overload. Without the namespace."""
        return self.schema_text.partition("(")[0]

    @cached_property
    def name(self) -> str:
        """The name in the IR, after the dialect's: `add.Tensor`, `quantized_decomposed.add`."""
        return self.overload_name if self.namespace == "aten" else f"{self.namespace}.{self.overload_name}"

    @property
    def schema(self) -> Schema:
        """The functional schema."""
        return parse_schema(self.schema_text)

    @property
    def out(self) -> Schema | None:
        """The schema of the out variant, which writes its results into tensors that it is given."""
        return parse_schema(self.out_text) if self.out_text else None

    @property
    def called(self) -> Schema:
        """The schema that a program of a runtime calls: the out variant, or the operator itself without one."""
        return self.out or self.schema

    @cached_property
    def kernel(self) -> str:
        """The name by which a program of a runtime calls it: `aten::add.out`."""
        return f"{self.namespace}::{(self.out_text or self.schema_text).partition('(')[0]}"

    @cached_property
    def family(self) -> str | None:
        """The family by which kernel libraries group it, `pointwise.binary`; `None` if none has a kernel of it."""
        packet = self.overload_name.partition(".")[0]
        return family_of(packet if self.namespace == "aten" else f"{self.namespace}.{packet}")

    # -- classes of operators

    @property
    def is_core(self) -> bool:
        """Whether it belongs to Core ATen as programs may hold it: tagged `core`, or the copying form of a view."""
        return "core" in self.tags or "view_copy" in self.tags

    @property
    def is_kept_whole(self) -> bool:
        """Whether it is left to runtimes though it is not Core ATen: a leaf (`leaves.txt`), or a runtime's own."""
        return (
            self.overload_name in LEAVES if self.namespace == "aten" else self.namespace in RUNTIME_NAMESPACES
        )

    @property
    def is_pointwise(self) -> bool:
        """Whether each element of the result depends on the elements at its place alone."""
        return "pointwise" in self.tags

    @property
    def is_random(self) -> bool:
        """Whether equal calls may differ: it draws from the generator's state."""
        return "nondeterministic_seeded" in self.tags

    @cached_property
    def is_view(self) -> bool:
        """Whether a result shares the memory of an argument."""
        return "Tensor(" in self.schema_text.rpartition("->")[2]

    @cached_property
    def moves(self) -> bool:
        """Whether each element of its results is one of its first operand: views, their copying forms, and others."""
        view = OPERATORS.get(self.view_form)
        is_move = view is not None and view.is_view and not view.facts.reinterprets
        return is_move or self.facts.moves

    @cached_property
    def reshapes(self) -> bool:
        """Whether its result has the elements of its first operand in their order: some views and copies."""
        return self._view_facts.reshapes

    @cached_property
    def rearranges(self) -> bool:
        """Whether its result has each element of its first operand once: what reshapes, and permutations."""
        return self._view_facts.reshapes or self._view_facts.permutes

    @property
    def _view_facts(self) -> Facts:
        """The facts of the view, for the copying form of one."""
        view = OPERATORS.get(self.view_form)
        return self.facts if view is None else view.facts

    @cached_property
    def is_edge(self) -> bool:
        """Whether the edge dialect has it: functional, and in Core ATen or with a kernel in a runtime.

        Core ATen without its views, whose copying forms take their place; leaves; what `kernels.txt` names; and
        the operators of other namespaces than `aten`.
        """
        return self.namespace != "aten" or (
            not self.is_view
            and (self.is_core or self.overload_name in LEAVES or self.overload_name in _kernels())
        )

    def limits(self, argument: Callable[[str], object]) -> tuple[float, float] | None:
        """The least and the greatest number that a call lets through, infinite where it has no limit.

        `None` for other operators, and for limits that are known at run time only, or that cross: torch gives the
        greatest number then.

        Args:
            argument: the value of an argument, by name.
        """
        if self.facts.limits is None:
            return None
        found: list[float] = []
        for limit, none in zip(self.facts.limits, (-inf, inf), strict=True):
            value = argument(limit) if isinstance(limit, str) else limit
            if value is not None and not isinstance(value, int | float):
                return None
            found.append(none if value is None else float(value))
        least, most = found
        return (least, most) if least <= most else None

    # -- counterparts

    @cached_property
    def copying_form(self) -> str | None:
        """The name of the operator that copies what this view shows: `permute_copy`. `None` for an operator without."""
        if self.name == "_unsafe_view":
            return "view_copy"
        copied = copying_name(self.name)
        is_form = self.namespace == "aten" and "_copy" not in self.name and self.name != "_to"
        return copied if is_form and copied in OPERATORS else None

    @cached_property
    def view_form(self) -> str:
        """The name of what it computes: without `_copy` for the copying form of a view, else its own."""
        packet, dot, overload = self.name.partition(".")
        if not packet.endswith("_copy") or packet == "_to_copy":
            return self.name
        view = f"{packet.removesuffix('_copy')}{dot}{overload}"
        return view if view in OPERATORS or "view_copy" in self.tags else self.name

    # -- what it computes

    @cached_property
    def shape_rule(self) -> Rule | None:
        """The function from the arguments to the results' shapes and element types, `None` where none is known.

        It takes the schema's arguments in order, as `et_ops.inference.meta.RULES` says.
        """
        from et_ops.inference import RULES

        return RULES.get(self.name)

    @cached_property
    def facts(self) -> Facts:
        """Facts declared by its family."""
        from et_ops.facts import DECLARED

        return DECLARED.get(self.name, _NO_FACTS)

    @property
    def is_exported(self) -> bool:
        """Whether exported programs may hold it; the others are made when a program is lowered."""
        return self.namespace not in ("dim_order_ops", "integer")


@cache
def _kernels() -> frozenset[str]:
    lines = text_of(_KERNELS).splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def copying_name(name: str) -> str:
    """The name that the copying form of a view operator has: `slice.Tensor` has `slice_copy.Tensor`."""
    packet, dot, overload = name.partition(".")
    return f"{packet}_copy{dot}{overload}"


class _Library(Mapping[str, Operator]):
    """The records by name, in the order of namespace and name; `aten` comes first and is not part of the name."""

    def __init__(self) -> None:
        self._made: dict[str, Operator] = {}

    @cached_property
    def _lines(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in (SNAPSHOT, EXTRA):
            for line in text_of(path).splitlines():
                if not line.startswith("#"):
                    found[line[: line.index("(")].replace("::", ".", 1)] = line
        return found

    def __getitem__(self, name: str) -> Operator:
        known = self._made.get(name)
        if known is None:
            text, tags, out = self._lines[name].split("\t")
            known = Operator(
                namespace_of(text) or "aten",
                without_namespace(text),
                frozenset(tags.split(",")) if tags else frozenset(),
                out,
            )
            self._made[name] = known
        return known

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


OPERATORS: Final[Mapping[str, Operator]] = _Library()
"""Every operator by its name in the IR: `add.Tensor`, `relu`, `quantized_decomposed.add`."""


@cache
def rearranging_copies(*, reshaping: bool = False) -> frozenset[str]:
    """The copying forms of views that show each element once, `reshaping` those that leave the order alone."""
    from et_ops.facts import DECLARED

    found = (
        OPERATORS[name].copying_form for name, facts in DECLARED.items() if facts.reshapes or facts.permutes
    )
    copies = (OPERATORS[name] for name in found if name is not None)
    return frozenset(one.name for one in copies if one.reshapes or not reshaping)


def operator(name: str) -> Operator:
    """The record of an operator by its qualified name, `aten::add.Tensor`. Raises `KeyError` for an unknown one."""
    return OPERATORS[name.removeprefix("aten::").replace("::", ".", 1)]


@cache
def _by_kernel() -> dict[str, str]:
    return {OPERATORS[name].kernel: name for name in OPERATORS}


def operator_of_kernel(kernel: str) -> Operator | None:
    """The record of the operator that a kernel computes, by the name that files give it: `aten::add.out`."""
    name = _by_kernel().get(kernel)
    return None if name is None else OPERATORS[name]


_STATELESS: Final = frozenset(
    {
        "dim_order_ops",
        "et_copy",
        "executorch_prim",
        "grouped",
        "integer",
        "llama",
        "quantized_decomposed",
        "torchvision",
    }
)
"""Namespaces, beside torch's, whose kernels keep nothing between calls and draw no random numbers."""


@cache
def hidden_state(kernel: str) -> str | None:
    """What a kernel shares with others beside its arguments, in words; None for one that shares nothing: its calls may
    run at the same time as others. What torch's kernels without a record draw is not known.
    """
    namespace, _, name = kernel.partition("::")
    if namespace in _STATELESS:
        return None
    if namespace != "aten":
        return "an operator of a library that may keep something"
    known = operator_of_kernel(kernel)
    if known is None and is_in_place(kernel):
        functional = name.replace("_.", ".").removesuffix("_")
        known = OPERATORS.get(functional)
    return None if known is not None and not known.is_random else "the random generator"
