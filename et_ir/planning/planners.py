"""Planners by name, those of others included.

A planner is a function from a list of buffers to a `Layout` or a `Plan`. An installed package offers one under a name
by an entry point of the group `executorch_ir.planners`; any other is named `module:function` or `file.py:function`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from operator import index
from typing import Final, cast

from et_ir.planning import PLANNERS, Planner
from et_ir.planning.buffer import Buffer, Layout
from et_ir.planning.check import layout_problems
from et_ir.planning.plan import Plan, plan_of
from et_schema.diagnostics import did_you_mean
from et_schema.user_code import import_place, raised

__all__ = ["GROUP", "PlannerError", "find_planner", "run_planner"]

GROUP: Final = "executorch_ir.planners"
"""The group of entry points."""


class PlannerError(ValueError):
    """There is no such planner, or what it returned is no layout."""


def find_planner(name: str) -> Planner:
    """The planner of that name: a built-in or installed one, `module:function` or `file.py:function`.

    Raises `PlannerError`, a `ValueError`, if there is none, or it cannot be loaded.
    """
    if name in PLANNERS:
        return PLANNERS[name]
    if ":" in name:
        return _planner_of(name)
    offered = entry_points(group=GROUP)
    for entry in offered:
        if entry.name == name:
            try:
                return _callable(entry.load(), name)
            except PlannerError:
                raise
            except Exception as error:
                # Loading runs the code of others, which may raise anything.
                raise PlannerError(
                    f"the planner {name}, {entry.value}, cannot be loaded: {raised(error)}"
                ) from error
    known = sorted({*PLANNERS, *(entry.name for entry in offered)})
    raise PlannerError(
        f"unknown planner {name!r}; planners are {', '.join(known)}, or module:function{did_you_mean(name, known)}"
    )


def run_planner(name: str, buffers: Sequence[Buffer], budget: int | None = None, slack: int = 0) -> Plan:
    """The plan that a planner makes, with a certificate.

    `budget` is the number of partial layouts that `exact` and `best` examine; without one, `best` is content with
    `slack` thousandths above the bound.

    What planners of others return is checked: raises `PlannerError` if it is wrong.
    """
    if budget is not None and name in ("best", "exact"):
        from et_ir.planning.exact import plan_exact

        return plan_exact(buffers, budget=budget)
    if name == "best":
        from et_ir.planning.exact import plan_best

        return plan_best(buffers, slack)
    if name in PLANNERS:
        made = PLANNERS[name](buffers)
        return made if isinstance(made, Plan) else plan_of(buffers, made)
    layout = _layout_of(name, _called(name, buffers))
    problems = layout_problems(buffers, layout)
    if problems:
        raise PlannerError(f"the layout of the planner {name} is invalid: {'; '.join(problems[:8])}")
    # A bound of others is not known to be one.
    return plan_of(buffers, layout)


def _called(name: str, buffers: Sequence[Buffer]) -> object:
    """Result of an external planner. Raises `PlannerError`, with the line that raised, if it does not return."""
    planner = find_planner(name)
    try:
        return planner(list(buffers))
    except (Exception, SystemExit) as error:
        raise PlannerError(f"the planner {name} raised {raised(error)}") from error


def _layout_of(name: str, made: object) -> Layout:
    """The layout that a planner of others returned, in whole numbers. Raises `PlannerError` if it is none."""
    if not isinstance(made, Layout | Plan):
        raise PlannerError(f"the planner {name} returned {type(made).__name__}, not a Layout or a Plan")
    layout = made.layout if isinstance(made, Plan) else made
    try:
        return Layout(tuple(index(offset) for offset in layout.offsets), index(layout.size))
    except TypeError as error:
        raise PlannerError(
            f"the layout of the planner {name} has offsets that are not integers: {error}"
        ) from None


def _planner_of(name: str) -> Planner:
    place, _, function = name.rpartition(":")
    try:
        module = import_place(place)
    except (Exception, SystemExit) as error:
        # Loading runs the code of others, which may raise anything.
        raise PlannerError(f"the planner {name} cannot be loaded: {raised(error)}") from error
    if not hasattr(module, function):
        functions = [known for known, value in vars(module).items() if callable(value)]
        raise PlannerError(f"{place} has no function '{function}'{did_you_mean(function, functions)}")
    return _callable(getattr(module, function), name)


def _callable(value: object, name: str) -> Planner:
    if not callable(value):
        raise PlannerError(f"the planner {name} is a {type(value).__name__}, not a function")
    return cast("Planner", value)
