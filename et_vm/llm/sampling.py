"""The choice of a token by its logits: greedy, or at random by temperature, top-k and top-p."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from et_schema.errors import InputError
from et_vm.values import Array

__all__ = ["Sampler"]

_FIRST: Final = 1024
"""The number of likeliest tokens that are sorted first: all others are sorted only where these do not suffice."""


@dataclass
class Sampler:
    """Chooses token ids; the same seed and logits give the same ids.

    Top-p keeps the likeliest tokens that together have at least probability `top_p` (Holtzman et al. 2020, section
    3.1), top-k the `top_k` likeliest. Raises InputError for numbers that say nothing.
    """

    temperature: float = 0.0
    """Divides the logits; 0 takes the likeliest token, the first of equal ones."""
    top_p: float = 1.0
    """1: all."""
    top_k: int = 0
    """0: all."""
    seed: int | None = None
    """None: other ids each time."""
    _random: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < np.inf:
            raise InputError(f"temperature {self.temperature}: expected a number that is not negative")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p {self.top_p}: expected a probability above 0, of at most 1")
        if not _is_count(self.top_k):
            raise InputError(f"top_k {self.top_k}: expected a number of tokens, or 0 for all")
        if self.seed is not None and not _is_count(self.seed):
            raise InputError(f"seed {self.seed}: expected a whole number that is not negative")
        self._random = np.random.default_rng(self.seed)

    def choose(self, logits: Array, allowed: Array | None = None) -> int:
        """A token id, by logits `[V]` float32; one of `allowed` `[V]` bool.

        Raises InputError where logits are NaN, or no token is allowed.
        """
        if allowed is not None:
            logits = np.where(allowed, logits, -np.inf)
        likeliest = int(logits.argmax())  # of NaN the first
        best = float(logits[likeliest])
        if not best > -np.inf:
            raise InputError("no token is possible: logits are NaN, or a constraint allows none")
        if self.temperature == 0:
            return likeliest
        below = logits.astype(np.float64) - best if best < np.inf else np.where(logits == best, 0.0, -np.inf)
        with np.errstate(over="ignore"):  # a low temperature makes infinities of finite differences
            weights = np.exp(below / self.temperature)
        drawn = float(self._random.random())
        # Most of the probability is with few tokens: sorting all takes longer than many a model.
        order = _likeliest(weights, self.top_k or _FIRST)
        sums = np.cumsum(weights[order])
        total = sums[-1] if self.top_k else weights.sum()
        if not self.top_k and sums[-1] <= total * (self.top_p if self.top_p < 1 else drawn):
            order = _likeliest(weights, len(weights))
            sums = np.cumsum(weights[order])
            total = sums[-1]
        sums /= total
        if self.top_p < 1:
            sums = sums[: int(np.searchsorted(sums, self.top_p)) + 1]
            drawn *= sums[-1]
        place = int(np.searchsorted(sums, drawn, side="right"))
        return int(order[min(place, len(sums) - 1)])


def _is_count(number: float) -> bool:
    return hasattr(number, "__index__") and number >= 0


def _likeliest(weights: Array, many: int) -> Array:
    """The `many` largest weights by their places, the largest first and the first of equal ones."""
    count = len(weights)
    if many >= count:
        return np.argsort(-weights, kind="stable")
    least = np.partition(weights, count - many)[count - many]
    (places,) = np.nonzero(weights >= least)
    return places[np.argsort(-weights[places], kind="stable")][:many]
