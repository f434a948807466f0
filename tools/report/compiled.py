"""Programs that commands compile themselves: the file, and all that is known on the way to it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from et_ir.driver.observer import Observer
from et_tools.report.level_facts import LevelFacts, level_facts

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["Compiled", "compile_quietly", "compile_source"]


class Compiled(NamedTuple):
    """Files in the folder of the compilation, and what the compiler says."""

    file: Path
    debug_map: Path
    levels: list[LevelFacts]
    explanation: dict[str, Any]


class _LevelRecorder(Observer):
    """Takes down each level when it is reached."""

    def __init__(self) -> None:
        self.levels: list[LevelFacts] = []
        self._keys: dict[tuple[str, ...], int] = {}

    def reached(self, level: str, module: ModuleOp) -> None:
        self.levels.append(level_facts(level, module, self._keys))


def compile_source(model: str, options: str, folder: Path) -> Compiled:
    """Compile a model as `et-compile MODEL OPTIONS` does, into a folder.

    Raises `UsageError` for options, and what the compiler raises.
    """
    from et_tools.exit_codes import UsageError

    try:
        given = shlex.split(options)
    except ValueError as error:
        raise UsageError(f"--compile: {error}") from None
    recorder = _LevelRecorder()
    said: list[dict[str, Any]] = []
    file, debug_map = compile_quietly(model, [*given, "--explain=json"], folder, [recorder], said.append)
    return Compiled(file, debug_map, recorder.levels, said[0])


def compile_quietly(
    model: str,
    options: Sequence[str],
    folder: Path,
    listeners: Sequence[Observer] = (),
    explain: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[Path, Path]:
    """The file that `et-compile MODEL OPTIONS` makes, and its debug map, in a folder; a terminal shows the stages.

    Raises `UsageError` for options, and what the compiler raises.
    """
    from et_tools.compile_options import parse_options
    from et_tools.compile_stages import Stages
    from et_tools.et_compile import compile_program
    from et_tools.exit_codes import UsageError

    file, debug_map = folder / "model.pte", folder / "model.json"
    args = parse_options("", [model, *options, "-o", str(file), "--debug-map", str(debug_map), "--quiet"])
    if args.emit != "pte":
        raise UsageError(f"--compile: a report is of a .pte, which --emit {args.emit} does not make")
    with Stages(quiet=not sys.stderr.isatty()) as stages:
        compile_program(args, stages, listeners=listeners, explain=explain)
    return file, debug_map
