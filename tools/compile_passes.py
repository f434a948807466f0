"""User passes in the stages of et-compile, and options that observe passes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.presets import PRESETS
from et_ir.driver.stages import Stage, edge_stages, executorch_stage
from et_ir.rewrite_limit import RewriteLimit
from et_tools.compile_parser import LEVELS
from et_tools.compile_target import check_target
from et_tools.exit_codes import UsageError
from et_tools.messages import print_message, running_command
from et_tools.pass_pipelines import parse_passes, passes_until
from et_tools.plugins import Extensions, load_extensions

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

__all__ = ["loaded_extensions", "rewrite_limit", "stages_until", "user_passes", "with_user_passes"]

_TEXT_LEVELS = LEVELS[:-1]


def loaded_extensions(args: argparse.Namespace) -> Extensions:
    """The extensions by the files of `--load`. Raises `UsageError` for them, and for a target that there is not."""
    extensions = load_extensions(args.load, running_command())
    check_target(args)
    return extensions


def user_passes(args: argparse.Namespace, extensions: Extensions) -> dict[str, list[ModulePass]]:
    """The passes of `--pass` by level; a loaded file of passes that do not run is a warning. Raises `UsageError`."""
    available = extensions.all_passes() if args.passes else {}
    found: dict[str, list[ModulePass]] = {}
    for given in args.passes:
        level, _, text = given.partition(":")
        if level not in _TEXT_LEVELS or not text.strip():
            raise UsageError(
                f"--pass {given}: expected LEVEL:PIPELINE, where LEVEL is one of {', '.join(_TEXT_LEVELS)}"
            )
        if LEVELS.index(level) > LEVELS.index(args.emit):
            raise UsageError(f"--pass {given}: --emit {args.emit} stops before that level")
        try:
            found.setdefault(level, []).extend(parse_passes(text, available))
        except UsageError as error:
            raise UsageError(f"--pass {given}: {error}") from error
    running = {one.name for passes in found.values() for one in passes}
    for place, names in extensions.passes_alone.items():
        if names.isdisjoint(running):
            text = f"--load {place}: none of its passes runs; give --pass LEVEL:{min(names)}"
            print_message(running_command(), text, "warning")
    return found


def with_user_passes(stages: Sequence[Stage], passes: Mapping[str, Sequence[ModulePass]]) -> list[Stage]:
    """Stages with passes of users before the check of their level, or before memory is planned.

    Raises `UsageError` for a level that the program is past.
    """
    levels = [stage.level for stage in stages]
    for level in passes:
        if level not in levels:
            raise UsageError(f"--pass {level}:…: the program is at the {levels[0]} level already")
    return [_with(stage, passes.get(stage.level, ())) for stage in stages]


def _with(stage: Stage, passes: Sequence[ModulePass]) -> Stage:
    # A program that was raised to edge may call delegates: it is checked as one of the level `backend`.
    anchors = ("link-check",) if stage.level == "executorch" else (f"verify-{stage.level}", "verify-backend")
    at = next(number for number, one in enumerate(stage.passes) if one.name in anchors)
    return Stage(stage.level, [*stage.passes[:at], *passes, *stage.passes[at:]])


def stages_until(stages: Sequence[Stage], wanted: str) -> list[Stage]:
    """Stages up to the pass of `--stop-after`. Raises `UsageError`."""
    count = passes_until([one for stage in stages for one in stage.passes], wanted)
    found: list[Stage] = []
    for stage in stages:
        found.append(Stage(stage.level, stage.passes[:count]))
        count -= len(stage.passes)
        if count <= 0:
            break
    return found


def rewrite_limit(
    args: argparse.Namespace, edge: EdgeCompileConfig, executorch: ExecutorchBackendConfig
) -> RewriteLimit | None:
    """The limit of `--rewrite-limit`, which does not hold for passes that a program cannot do without."""
    if args.rewrite_limit is None:
        return None
    least = next(iter(PRESETS))
    stages = [*edge_stages(replace(edge, level=least)), executorch_stage(replace(executorch, level=least))]
    needed = {one.name for stage in stages for one in stage.passes}
    return RewriteLimit(args.rewrite_limit, lambda one: one.name not in needed)
