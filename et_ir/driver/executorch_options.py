"""Options of ExecuTorch's configurations.

They have other names here, no effect, or no place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from functools import wraps
from typing import Any, TypeVar

from et_schema.diagnostics import did_you_mean
from et_schema.executorch_names import option_message, option_row

__all__ = ["MemoryPlanningPass", "OptionWithoutEffect", "backend_options", "takes_executorch_options"]

Configuration = TypeVar("Configuration")


class OptionWithoutEffect(UserWarning):
    """An option of ExecuTorch's has a value that nothing here depends on; the message says why."""


def takes_executorch_options(
    translate: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Callable[[type[Configuration]], type[Configuration]]:
    """Let a dataclass be made with ExecuTorch's options, too. `translate` puts fields for those that have other names.

    What is left and no field is looked up in the table of names: what holds anyway is accepted, any other value is a
    warning, `OptionWithoutEffect`, or TypeError where results would depend on it.
    """

    def decorate(cls: type[Configuration]) -> type[Configuration]:
        original: Callable[..., None] = cls.__init__
        declared = fields(cls)  # pyright: ignore[reportArgumentType] (a dataclass)
        known = [one.name for one in declared]
        lists = [one.name for one in declared if str(one.type).startswith("Sequence[")]

        @wraps(original)
        def initialize(self: Configuration, *args: Any, **options: Any) -> None:
            translated = translate(options) if translate is not None else options
            own = {name: value for name, value in translated.items() if name in known}
            for name in translated.keys() - own.keys():
                _check(cls.__name__, name, translated[name], declared)
            for name in lists:
                if isinstance(own.get(name), str):
                    raise TypeError(f"{cls.__name__}: {name} is a list: {name}=[{own[name]!r}]")
            original(self, *args, **own)

        setattr(cls, "__init__", initialize)  # noqa: B010 (a type checker forbids the assignment)
        return cls

    return decorate


def _check(configuration: str, option: str, value: object, declared: Sequence[Field[Any]]) -> None:
    row = option_row(configuration, option)
    if row is None:
        near = did_you_mean(option, [one.name for one in declared])
        own = [one for one in declared if not one.name.startswith("_")]
        # Of words the default, which has the form that others have.
        named = (f"{one.name}={one.default!r}" if isinstance(one.default, str) else one.name for one in own)
        listed = f"; its options are {', '.join(named)}"
        raise TypeError(f"{configuration} has no option '{option}'{near or listed}")
    if value is None or value == row.holds:
        return
    message = option_message(row, configuration, option, value)
    if row.refused:
        raise TypeError(message)
    warnings.warn(message, OptionWithoutEffect, stacklevel=3)


@takes_executorch_options()
@dataclass(frozen=True)
class MemoryPlanningPass:
    """Memory planning as ExecuTorch's configuration describes it, by `memory_planning_pass`.

    The field `memory_planning` of `ExecutorchBackendConfig` and those beside it say the same.
    """

    memory_planning_algo: str | None = None
    """The planner, as `memory_planning` names it: `best`, `upstream`, `module:function`; None for the default."""
    alloc_graph_input: bool = True
    """Whether inputs get planned memory, or point at the caller's."""
    alloc_graph_output: bool = True
    """Whether outputs get planned memory, or the caller gives it."""

    def __post_init__(self) -> None:
        """Raises `TypeError` for a planner that is not a name."""
        if self.memory_planning_algo is not None and not isinstance(self.memory_planning_algo, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"memory_planning_algo is a {type(self.memory_planning_algo).__name__}, "
                "expected a planner's name, such as 'greedy', or 'module:function'"
            )


def backend_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `ExecutorchBackendConfig`, where ExecuTorch's that have other names have ours.

    Raises `TypeError` for a memory planning pass that is none, or for one thing said twice, and `ValueError` for
    methods with different planners.
    """
    options = dict(options)
    if options.get("delegate_alignment", 16) is None:  # ExecuTorch's default
        del options["delegate_alignment"]
    if (alignment := options.pop("constant_tensor_alignment", None)) is not None:
        _put(options, "tensor_alignment", alignment, "constant_tensor_alignment")
    planning = options.pop("memory_planning_pass", None)
    if planning is None:
        return options
    by_method: dict[str, object] = dict(planning) if isinstance(planning, Mapping) else {"": planning}  # pyright: ignore[reportUnknownArgumentType]
    passes: dict[str, MemoryPlanningPass] = {}
    for method, one in by_method.items():
        if not isinstance(one, MemoryPlanningPass):
            raise TypeError(
                f"memory_planning_pass is a {type(one).__name__}, expected an et_ir.MemoryPlanningPass, or a dict of "
                "them by method; planners of your own: memory_planning='module:function'"
            )
        passes[method] = one
    planners = {one.memory_planning_algo for one in passes.values()}
    if len(planners) > 1:
        raise ValueError("memory_planning_pass: all methods have one planner, for they share arenas")
    if (planner := next(iter(planners), None)) is not None:
        _put(options, "memory_planning", planner, "memory_planning_pass")
    if "" in passes:
        for name in ("alloc_graph_input", "alloc_graph_output"):
            _put(options, name, getattr(passes[""], name), "memory_planning_pass")
        return options
    caller = list(options.get("caller_memory", ()))
    for method, one in passes.items():
        caller += [f"{method}.inputs"] * (not one.alloc_graph_input)
        caller += [f"{method}.outputs"] * (not one.alloc_graph_output)
    return {**options, "caller_memory": caller}


def _put(options: dict[str, Any], name: str, value: object, source: str) -> None:
    if options.get(name, value) != value:
        raise TypeError(f"{source} and {name} say different things: give one of them")
    options[name] = value
