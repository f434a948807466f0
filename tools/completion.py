"""Shell completion of the commands: scripts that `shtab` makes of their parsers.

A script is made once, for `--print-completion`, and asks the command for nothing while it completes. It knows options,
choices, verbs and files, and the names of passes, targets, planners and backends that there were when it was made.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from et_schema.distribution import NAME, RUNTIME, installation
from et_tools.exit_codes import UsageError

__all__ = ["completion_script", "names_of"]


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script of a command for `bash`, `zsh` or `fish`. Raises `UsageError` without `shtab`."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise UsageError(
            f"completion needs the package shtab; install it with: {installation('completion')}"
        ) from None
    for action in _actions(parser):
        metavar = str(action.metavar)
        named = _named(action)
        completed: Any = None
        if named is not None:
            completed = _of_names(named.__name__, named(), "," if metavar in ("PIPELINE", "PASSES") else "")
        elif metavar.endswith("FILE") or metavar in ("MODEL", "SOURCE"):
            completed = shtab.FILE
        elif metavar == "DIR":
            completed = shtab.DIRECTORY
        if completed is not None:
            vars(action)["complete"] = completed  # where shtab looks for it
    return shtab.complete(parser, shell)


def names_of(action: argparse.Action) -> Sequence[str]:
    """The names that the value of an option may be; none for values of other kinds."""
    named = _named(action)
    return () if named is None else named()


def _named(action: argparse.Action) -> Callable[[], Sequence[str]] | None:
    if NAME == RUNTIME:  # they are names of the compiler
        return None
    keys = (str(action.metavar), *action.option_strings)
    return next((_NAMES[key] for key in keys if key in _NAMES), None)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of those of its verbs."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] (argparse lists them nowhere else)
        if isinstance(action.choices, dict):
            for verb in action.choices.values():
                yield from _actions(verb)
        else:
            yield action


def _passes() -> Sequence[str]:
    from et_ir.driver.pipelines import named_pipelines
    from et_ir.passes import pass_places

    return [*sorted(pass_places()), *named_pipelines()]


def _targets() -> Sequence[str]:
    from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
    from et_ir.targets.lookup import target_names

    return [*target_names(), *FREESTANDING_TARGETS]


def _planners() -> Sequence[str]:
    from et_ir.planning.planners import PLANNERS

    return sorted(PLANNERS)


def _backends() -> Sequence[str]:
    from et_ir.delegation.backends_by_name import backend_names

    return backend_names()


def _modes() -> Sequence[str]:
    from et_tools.compile_parser import QUANTIZATION_MODES

    return QUANTIZATION_MODES


_NAMES: Final[dict[str, Callable[[], Sequence[str]]]] = {
    "PIPELINE": _passes,
    "PASSES": _passes,
    "PASS[,N]": _passes,
    "PASS": _passes,
    "--target": _targets,
    "--memory-planning": _planners,
    "--algorithm": _planners,
    "--backend": _backends,
    "--quantize": _modes,
}
"""The names that a value may be, by metavar or option."""


def _of_names(kind: str, names: Sequence[str], separator: str) -> dict[str, Any]:
    """The completion, in each shell, of a name, or of the last name of a list."""
    words = " ".join(names)
    function = f"_et{kind}{'_list' if separator else ''}"
    line = f'compgen -W "{words}" -- "$1"'
    if separator:
        line = f'local last="${{1##*{separator}}}"\n  compgen -P "${{1%"$last"}}" -W "{words}" -- "$last"'
    return {
        "bash": function,
        "zsh": f" _values -s {separator} name {words}" if separator else f"({words})",
        "fish": words,
        "preamble": {"bash": f"{function}() {{\n  {line}\n}}"},
    }
