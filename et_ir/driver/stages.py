"""The driver: stages of passes, run in order with one report for all faults.

`to_edge`, `to_executorch` and `et-compile` make stages of their configurations and run them here; `et-opt` runs the
passes that it is asked for with `run_passes`.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.context import OperatorContext
from et_ir.diagnostics import PassReport
from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.faults import with_later_faults
from et_ir.driver.method_passes import MethodPasses, TransformPass, UserPass, as_pass
from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import (
    aten_passes,
    backend_passes,
    core_aten_passes,
    edge_passes,
    executorch_passes,
    parse_passes,
)
from et_ir.pass_application import apply_pass
from et_ir.passes.common.erase_quantized_types import erase_quantized_types

if TYPE_CHECKING:
    from et_ir.frontend import UnsupportedProgram

__all__ = [
    "Stage",
    "backend_stage",
    "edge_stages",
    "executorch_stage",
    "import_faults",
    "quiet_collector",
    "run_passes",
    "run_pipeline",
    "run_stages",
]


@contextmanager
def quiet_collector() -> Generator[None]:
    """Collect garbage rarely meanwhile: a module is a web of live objects that collections walk for nothing.

    At the end only young objects are examined: what was put off would bring on a walk over all that torch holds.
    """
    before = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if gc.isenabled() and gc.get_count()[0] > before[0] > 0:
            gc.collect(0)


@dataclass(frozen=True)
class Stage:
    """The passes that bring a program to a level."""

    level: str
    passes: Sequence[ModulePass]


def edge_stages(
    config: EdgeCompileConfig, preserve: Sequence[ModulePass] = (), transform: MethodPasses = ()
) -> list[Stage]:
    """The stages from an exported program to the edge level.

    `preserve` runs before decomposition, on the operators of `config` that are preserved; `transform` are passes of
    the user's that follow those of the configuration. Raises `ValueError` for an unknown level, or an operator to
    preserve that is not registered.
    """
    *lower, check = edge_passes(config)
    transforms = [TransformPass(passes) for passes in (config.transform_passes, transform) if passes]
    checks = [check] if config._check_ir_validity else []  # pyright: ignore[reportPrivateUsage] (upstream's name)
    return [
        Stage("aten", aten_passes()),
        Stage("core-aten", [*preserve, *core_aten_passes(config)]),
        Stage("edge", [*lower, *transforms, *checks]),
    ]


def backend_stage(passes: Sequence[UserPass] = ()) -> Stage:
    """The stage from the edge level to that of backends; `passes` delegate, or are the user's own."""
    return Stage("backend", [*map(as_pass, passes), *backend_passes()])


def executorch_stage(config: ExecutorchBackendConfig) -> Stage:
    """The stage from the level of backends to a planned and verified program. Raises `ValueError` for an unknown
    level.
    """
    return Stage("executorch", executorch_passes(config))


@quiet_collector()  # between passes too: with the usual thresholds each would end with a collection
def run_stages(
    module: ModuleOp,
    stages: Sequence[Stage],
    observer: Observer | None = None,
    ctx: Context | None = None,
    *,
    verify_each: bool = False,
) -> None:
    """Run stages on a module in place; with `verify_each` verify it after each pass, not only after those of users.

    Raises what passes raise: `PassFailedException` and its subclasses for programs that they cannot take. A report of
    faults also has those that the rest of the stages finds in the rest of the program.
    """
    observer = observer or Observer()
    passes = [one for stage in stages for one in stage.passes]
    done = 0
    for stage in stages:
        for one in stage.passes:
            try:
                run_passes(module, [one], observer, ctx, verify_each=verify_each)
            except PassReport as error:
                found = with_later_faults(error, module, passes[done:])
                if found is error:
                    raise
                raise found from error
            done += 1
        observer.reached(stage.level, module)


def import_faults(error: UnsupportedProgram, stages: Sequence[Stage]) -> Exception:
    """Report of an import, joined with the findings of later stages."""
    return with_later_faults(error, error.module, [one for stage in stages for one in stage.passes])


def run_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    observer: Observer | None = None,
    ctx: Context | None = None,
    *,
    verify_each: bool = False,
) -> None:
    """Run passes on a module in place. Raises what they raise, and `InvalidModule` for what a pass of the user's, or
    with `verify_each` any pass, leaves invalid.
    """
    context = OperatorContext() if ctx is None else ctx
    with quiet_collector():
        for one in passes:
            if observer is not None:
                observer.before_pass(one, module)
            try:
                apply_pass(one, context, module, verify=True if verify_each else None)
            except Exception:
                if observer is not None:
                    observer.failed_pass(one, module)
                raise
            if observer is not None:
                observer.after_pass(one, module)


def run_pipeline(module: ModuleOp, pipeline: str, observer: Observer | None = None) -> None:
    """Run the passes of a pipeline text on a module in place, on integers where it has quantized types. Raises what
    they raise, `KeyError` for an unknown pass, and `PassReport` for types that operations contradict.
    """
    erase_quantized_types(module)
    run_passes(module, parse_passes(pipeline), observer)
