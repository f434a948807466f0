"""The ahead-of-time compiler: dialects, frontend, passes and emission.

    from et_ir import to_edge
    et = to_edge(torch.export.export(model, args)).to_executorch()
    et.save("model.pte")

Importing this package imports neither torch nor xDSL; the names below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from et_schema.distribution import NAME, PROJECT

if TYPE_CHECKING:
    from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
    from et_ir.driver.executorch_options import MemoryPlanningPass
    from et_ir.driver.managers import (
        EdgeProgramManager,
        ExecutorchProgramManager,
        to_edge,
        to_edge_transform_and_lower,
    )
    from et_ir.driver.raising import raise_program
    from et_ir.frontend.training import joint_program, with_loss
    from et_ir.frontend.training_step import training_step

if NAME != PROJECT:  # both distributions have et_schema and et_vm: those installed last are there
    raise ImportError(
        f"{NAME} has replaced modules of {PROJECT}, which contains all of it: pip uninstall {NAME}, then install "
        f"{PROJECT} again",
        name=__name__,
    )

__version__: str

__all__ = [
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "MemoryPlanningPass",
    "joint_program",
    "raise_program",
    "to_edge",
    "to_edge_transform_and_lower",
    "training_step",
    "with_loss",
]


def __getattr__(name: str) -> Any:
    if name == "raise_program":
        from et_ir.driver.raising import raise_program

        return raise_program
    if name in ("joint_program", "with_loss"):
        from et_ir.frontend import training

        return getattr(training, name)
    if name == "training_step":
        from et_ir.frontend.training_step import training_step

        return training_step
    if name == "MemoryPlanningPass":
        from et_ir.driver.executorch_options import MemoryPlanningPass

        return MemoryPlanningPass
    if name in __all__:
        from et_ir.driver import managers

        return getattr(managers, name)
    if name == "__version__":
        from importlib.metadata import version  # reading package metadata takes its time

        return version(PROJECT)
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name, __all__)
