"""Names of the methods of training programs."""

from __future__ import annotations

from typing import Final

__all__ = ["GRADIENTS", "NAMES", "PARAMETERS", "STEP"]

GRADIENTS: Final = "__et_training_gradients_index_"
"""With the name of a method: the position of the first gradient among its results."""
PARAMETERS: Final = "__et_training_parameters_index_"
"""With the name of a method: the position of the first parameter among its results."""
NAMES: Final = "__et_training_fqn_"
"""With the name of a method: the names of the parameters, in the order of both."""
STEP: Final = "train_step"
"""The method that computes a loss and changes the parameters, by an optimizer that is part of the program."""
