"""Distance metrics between intermediate values and references, with ExecuTorch's names.

Values are compared in double precision; NaN counts as 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from et_vm.devtools.reference_values import as_tensor

__all__ = ["COMPARATORS", "L1Comparator", "MSEComparator", "NumericalComparatorBase", "SNRComparator"]


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name, __all__)


class NumericalComparatorBase(ABC):
    """Base class of custom metrics: subclasses define `element_compare`, and may preprocess values."""

    def __init__(self, inspector: Any = None) -> None:
        self.inspector = inspector
        """The `Inspector` that compares; None before it does."""

    def preprocessing(
        self, mapping: dict[tuple[tuple[int, ...], Any], tuple[tuple[int, ...], Any]]
    ) -> dict[tuple[tuple[int, ...], Any], tuple[tuple[int, ...], Any]]:
        """The pairs to compare, of all pairs: from the debug handles and the value of the reference graph, to those of
        the execution. Values are tensors, or tuples of them.
        """
        return mapping

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of a value of an execution, `b`, from its reference `a`: tensors or numbers."""


class MSEComparator(NumericalComparatorBase):
    """The mean of the squared differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return float((as_tensor(a) - as_tensor(b)).square().mean())


class L1Comparator(NumericalComparatorBase):
    """The sum of the absolute differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return float((as_tensor(a) - as_tensor(b)).abs().sum())


class SNRComparator(NumericalComparatorBase):
    """The ratio of the reference's power to the difference's, in dB; infinite for equal values."""

    def element_compare(self, a: Any, b: Any) -> float:
        signal = as_tensor(a)
        noise = signal - as_tensor(b)
        return float(10 * (signal.square().mean() / noise.square().mean()).log10())


COMPARATORS: Final[dict[str, type[NumericalComparatorBase]]] = {
    "MSE": MSEComparator,
    "L1": L1Comparator,
    "SNR": SNRComparator,
}
"""The distances by name."""
