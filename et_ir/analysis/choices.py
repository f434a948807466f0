"""Choice among forms of an operator by their costs on the target.

A *form* builds other operators that compute the same. All forms of an operator are built and priced (`cost_model.py`);
the cheapest is inserted, the others are dropped. What the operator is now is a candidate too, and stays where nothing
is cheaper by more than the model can be wrong by.

What has been chosen among, and what it was estimated to cost, is written down by passes that run in an
`ExplainingContext`: compilers call such messages optimisation remarks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, Final

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, LocationAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.cost_model import CostModel
from et_ir.context import OperatorContext
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import APART
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = [
    "Candidate",
    "CheapestForm",
    "Choice",
    "ExplainingContext",
    "Form",
    "explained",
    "is_explained",
    "note",
    "shapes_of",
]

GAIN: Final = 0.9
"""Maximum cost of a form relative to the operator's own: estimates are no better than that."""


@dataclass(frozen=True)
class Candidate:
    """A way to compute an operator; `seconds` is None if the target's table cannot tell."""

    name: str
    seconds: float | None


@dataclass(frozen=True)
class Choice:
    """Among what was chosen for an operator, and what was."""

    op: str
    shapes: str
    location: LocationAttr
    candidates: tuple[Candidate, ...]
    chosen: str
    measured: bool = False
    """Whether times were measured, not estimated."""


@dataclass
class ExplainingContext(OperatorContext):
    """A context in which passes say what they have chosen."""

    choices: list[Choice] = field(default_factory=list[Choice])


_EXPLAINING: Final[ContextVar[ExplainingContext | None]] = ContextVar("explaining", default=None)


@contextmanager
def explained(context: ExplainingContext | None) -> Generator[None]:
    """Within, passes of backends, which run in contexts of their own, say what they have chosen too."""
    token = _EXPLAINING.set(context)
    try:
        yield
    finally:
        _EXPLAINING.reset(token)


def is_explained() -> bool:
    """Whether somebody asks about choices."""
    return _EXPLAINING.get() is not None


def note(choice: Choice) -> None:
    """Write down a choice of a backend, if somebody asks."""
    context = _EXPLAINING.get()
    if context is not None:
        context.choices.append(choice)


class Form(ABC):
    """One way to compute operators of a class."""

    name: ClassVar[str]
    """Name in explanations."""

    @abstractmethod
    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        """The operators that compute the same, inserted nowhere. The results of the last one are those of `op`,
        which may have more that nothing uses.

        None where this is no way to compute `op`.
        """

    def gain(self, op: EdgeOp) -> float:
        """Maximum cost of the form relative to the ops it replaces."""
        return GAIN

    def replaced(self, op: EdgeOp) -> Sequence[EdgeOp]:
        """Ops made dead by this form: `op` itself, and operators that only it uses."""
        return [op]


class CheapestForm(RewritePattern):
    """Replaces an operator by the cheapest of its forms."""

    def __init__(
        self,
        root: type[EdgeOp],
        forms: Sequence[Form],
        model: CostModel,
        context: Context,
        *,
        apart: bool = False,
    ):
        """With `apart`, what a form builds is not shared with that of others: equal copies of a tensor would have to be
        kept from the first to the last operator that uses one.
        """
        self.apart = count() if apart else None
        self.roots = (root,)
        self.forms = forms
        self.model = model
        self.choices = context.choices if isinstance(context, ExplainingContext) else None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, EdgeOp):
            return
        candidates: list[Candidate] = []
        best: tuple[float, str, Sequence[EdgeOp]] | None = None
        for form in self.forms:
            built = form.build(op)
            if built is None:
                continue
            seconds, now = self.model.seconds(built), self.model.seconds(form.replaced(op))
            if not candidates:
                candidates.append(Candidate(op.name, self.model.seconds([op])))
            candidates.append(Candidate(form.name, seconds))
            better = seconds is not None and now is not None and seconds <= form.gain(op) * now
            # Forms that spare other operators are compared by what is left to pay for.
            gained = seconds - now if better and seconds is not None and now is not None else 0.0
            if better and (best is None or gained < best[0]):
                if best is not None:
                    _drop(best[2])
                best = gained, form.name, built
            else:
                _drop(built)
        if candidates and self.choices is not None:
            chosen = best[1] if best is not None else op.name
            self.choices.append(Choice(op.name, shapes_of(op), op.location, tuple(candidates), chosen))
        if best is not None:
            made = best[2][-1].results
            number = None if self.apart is None else IntegerAttr(next(self.apart), 64)
            for one in best[2]:
                # What keeps an operator apart from equal ones keeps what it becomes apart.
                one.attributes.update(op.attributes)
                if number is not None:
                    one.attributes[APART] = number
            rewriter.replace(op, best[2], [*made, *(None,) * (len(op.results) - len(made))])


def _drop(built: Sequence[EdgeOp]) -> None:
    for op in reversed(built):
        op.erase()


def shapes_of(op: Operation) -> str:
    """Sizes of the operands that are tensors."""
    shapes = [tensor_type(value).get_shape() for value in op.operands if is_tensor(value.type)]
    return ", ".join("x".join("?" if size < 0 else str(size) for size in shape) or "()" for shape in shapes)
