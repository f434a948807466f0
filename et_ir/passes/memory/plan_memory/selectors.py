"""Registers by what users call them: what options say of the memory of single values.

| selector | |
|---|---|
| `forward.inputs`, `forward.inputs.0` | what the method is given, or one of that |
| `forward.outputs`, `forward.outputs.0` | what it returns |
| `forward.state.cache.*` | its mutable buffers of that name, in every method that has them |
| `forward.modules.layer1.*` | what the submodules of that name compute |

Names are those of the program in torch, and patterns (`*`, `?`, `[…]`). A module stands for those inside of it, and
what it computes for all that shares memory with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from xdsl.ir import SSAValue

from et_ir.analysis.aliasing import root_of
from et_ir.dialects.executorch import MemoryRegisterOp, PlanOp, StateOp
from et_ir.locations import module_path

__all__ = ["SELECTOR", "SelectorError", "check_selector", "select"]

_WHAT: Final = (
    r"\.(?:(?P<kind>inputs|outputs)(?:\.(?P<index>[0-9]+))?|(?P<group>state|modules)\.(?P<name>.+))"
)
SELECTOR: Final = re.compile(r"(?P<method>.+?)" + _WHAT)
"""The syntax of a selector."""


class SelectorError(ValueError):
    """A selector that selects nothing; the message says why."""


def check_selector(selector: str) -> None:
    """Raise `SelectorError` for what is no selector, whatever the program."""
    if SELECTOR.fullmatch(selector) is None or '"' in selector:
        raise SelectorError(
            f"{selector!r}: expected METHOD.inputs, METHOD.outputs.0, METHOD.state.NAME or METHOD.modules.NAME"
        )


def select(plans: Sequence[PlanOp], selector: str) -> list[SSAValue]:
    """The registers that a selector stands for. Raises `SelectorError` if there are none."""
    by_name = {plan.sym_name.data: plan for plan in plans}
    match = SELECTOR.fullmatch(selector)
    plan = by_name.get(match["method"]) if match is not None else None
    if match is None or plan is None:
        first = next(iter(by_name), "forward")
        likes = f"{first}.inputs.0, {first}.outputs, {first}.state.NAME or {first}.modules.NAME"
        raise SelectorError(f"{selector!r} is not a selector such as {likes}")
    if match["kind"]:
        return _interface(plan, selector, match)
    if match["group"] == "state":
        return _state(plans, plan, selector, match["name"])
    return _computed(plan, selector, match["name"])


def _interface(plan: PlanOp, selector: str, match: re.Match[str]) -> list[SSAValue]:
    """Inputs or outputs of a method."""
    values: list[SSAValue] = []
    if match["kind"] == "inputs":
        values += [op.result for op in plan.inputs]
    else:
        values += plan.return_op.outputs
    if match["index"] is not None:
        if int(match["index"]) >= len(values):
            raise SelectorError(f"{selector!r}: {plan.sym_name.data} has {len(values)} {match['kind']}")
        return [values[int(match["index"])]]
    if not values:
        raise SelectorError(f"{selector!r}: {plan.sym_name.data} has no {match['kind']}")
    return values


def _state(plans: Sequence[PlanOp], plan: PlanOp, selector: str, pattern: str) -> list[SSAValue]:
    """Buffers that a method has, in all methods: they lie in one place."""
    own = {op.key for op in plan.registers if isinstance(op, StateOp)}
    found = {key for key in own if fnmatchcase(key, pattern)}
    if not found:
        raise SelectorError(f"{selector!r}: {plan.sym_name.data} has {_known('state', own, pattern)}")
    return [
        op.result for other in plans for op in other.registers if isinstance(op, StateOp) and op.key in found
    ]


def _computed(plan: PlanOp, selector: str, pattern: str) -> list[SSAValue]:
    """Registers written by the instructions of some modules."""
    paths = {op: module_path(op.location) for op in plan.instructions}
    found: dict[SSAValue, None] = {}
    for op, path in paths.items():
        if path and any(fnmatchcase(one, pattern) for one in _enclosing(path)):
            for register in op.writes:
                root = root_of(register)
                if isinstance(root.owner, MemoryRegisterOp):
                    found[root] = None
    if not found:
        known = {path for path in paths.values() if path}
        raise SelectorError(f"{selector!r}: {plan.sym_name.data} has {_known('modules', known, pattern)}")
    return list(found)


def _enclosing(path: str) -> Iterable[str]:
    """A module's path and those of the modules that it is in."""
    parts = path.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _known(what: str, names: Iterable[str], pattern: str) -> str:
    """The existing names for an error message: those that resemble the pattern first."""
    names = sorted(names)
    if not names:
        return f"no {what}"
    shown = get_close_matches(pattern, names, n=4, cutoff=0.4) or names[:4]
    more = ", …" if len(names) > len(shown) else ""
    return f"no {what} of that name; there are {', '.join(shown)}{more}"
