"""Training by et-compile: the method `forward` of a factory or a .pt2 becomes one with gradients."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from torch import nn
    from torch.export import ExportedProgram

    from et_ir.frontend.optimizers import Optimizer
    from et_ir.targets.target import Target

__all__ = ["TRAINED", "Training"]

TRAINED = "forward"
"""The method that is trained."""


class Training:
    """The training method that options ask for: a step before the export, and one after it."""

    def __init__(self, args: argparse.Namespace):
        """Raises `UsageError` for options that exclude each other, and for an optimizer that there is not."""
        self._args = args
        self._optimizer: Optimizer | None = None
        self._place = args.model.rpartition(":")[0]
        if args.train is None:
            for option in ("trainable", "optimizer"):
                if getattr(args, option):
                    raise UsageError(f"--{option} needs --train")
            return
        if args.model.startswith("hf:") or not (self._place or args.model.endswith(".pt2")):
            raise UsageError(
                "--train needs a module, file.py:factory or package.module:factory, or an exported program, a .pt2; "
                f"{args.model} is none"
            )
        if args.quantize is not None:
            raise UsageError(
                "--train and --quantize exclude each other: quantized parameters are not trained"
            )
        if args.optimizer is not None:
            from et_ir.frontend.optimizers import Optimizer

            try:
                self._optimizer = Optimizer.of(args.optimizer)
            except ValueError as error:
                raise UsageError(f"--optimizer {args.optimizer}: {error}") from None

    def check_target(self, target: Target) -> None:
        """Raise `UsageError` for a training step on a runtime whose methods do not share parameters."""
        if self._optimizer is not None and target.vm_kernels is None:
            raise UsageError(
                f"--optimizer: on the target {target.name} each method has parameters of its own; compile for --target "
                "et-vm, or without --optimizer: its runtime has one"
            )

    @property
    def is_wanted(self) -> bool:
        """Whether there is a method to train."""
        return self._args.train is not None

    def trains(self, method: str) -> bool:
        """Whether a method is trained."""
        return self.is_wanted and method == TRAINED

    def with_loss(self, module: nn.Module) -> nn.Module:
        """The module to export, which returns its loss first. Raises `UsageError` and `TrainingError`."""
        from et_ir.frontend.exported import is_exported
        from et_ir.frontend.training import with_loss

        if is_exported(module):
            self.check_exported()
            return module
        given: str = self._args.train
        if not given:
            return with_loss(module)
        from et_tools.loading import attribute_of

        place, _, name = given.rpartition(":")
        return with_loss(module, attribute_of(place or self._place, name))

    def check_exported(self) -> None:
        """Raise `UsageError` for a loss that an exported program cannot be given any more."""
        if self._args.train:
            raise UsageError(
                f"--train loss={self._args.train}: {self._args.model} is an exported program, whose first output is "
                "the loss: return (module, example_args) from a factory"
            )

    def joint(self, programs: dict[str, ExportedProgram]) -> dict[str, ExportedProgram]:
        """The programs, with the gradients of the method that is trained. Raises `UsageError` and `TrainingError`."""
        from et_ir.frontend.training import joint_program
        from et_tools.loading import quiet_torch

        program: Any = programs.get(TRAINED)
        if program is None:
            raise UsageError(
                f"--train: {self._args.model} has no method '{TRAINED}', which is the one that is trained; it has "
                f"{', '.join(programs)}"
            )
        try:
            with quiet_torch():
                joint = joint_program(program, self._args.trainable)
                steps = self._steps(joint, programs)
            return {**programs, TRAINED: joint, **steps}
        except ValueError as error:
            raise UsageError(f"--trainable: {error}") from None

    def _steps(
        self, joint: ExportedProgram, programs: dict[str, ExportedProgram]
    ) -> dict[str, ExportedProgram]:
        """The training step, if there is an optimizer. Raises `UsageError` where a method has its name."""
        if self._optimizer is None:
            return {}
        from et_ir.frontend.training_step import training_step
        from et_schema.training import STEP

        if STEP in programs:
            raise UsageError(
                f"--optimizer: {self._args.model} has a method '{STEP}' already: give it another name"
            )
        return {STEP: training_step(joint, self._optimizer)}
