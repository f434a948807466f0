"""Naming conventions of kernels: what a call changes, aliases and returns, from the operator's name alone.

A file names its operators and says nothing else of them. Out variants follow one convention (the out
arguments, then the returns), in-place operators end in an underscore and change and return their first
argument. What does otherwise is listed here.
"""

from __future__ import annotations

from functools import cache
from typing import Final

__all__ = ["COPY", "ET_VIEW", "is_in_place", "mutated_arguments", "returns_nothing"]

COPY: Final = "aten::copy_"
"""Gives its first argument, whose content it does not read, that of its second."""

ET_VIEW: Final = "executorch_prim::et_view.default"
"""Makes its last argument refer to the memory of its first, in another shape."""

_CHANGES_FIRST: Final = frozenset({"executorch_prim::et_copy_index.tensor"})
"""Prims that write into a part of their first argument and return nothing."""


UPDATE_CACHE: Final = "llama::update_cache.out"
"""Writes `[batch, tokens, groups, size]` into a cache `[batch, places, groups, size]` from a place on."""

_CHANGES_CACHES: Final = {
    "llama::sdpa_with_kv_cache.out": (3, 4),
    UPDATE_CACHE: (1,),
    "llama::update_cache_with_indices.out": (1,),
}
"""Operators of ExecuTorch's library for language models that write into arguments beside their outs."""


@cache
def is_in_place(operator: str) -> bool:
    """Whether an operator changes its first argument and returns it: `aten::copy_`, `aten::index_put_`."""
    name = operator.rpartition("::")[2].partition(".")[0]
    return name.endswith("_") and not name.endswith("__")


def mutated_arguments(operator: str) -> tuple[int, ...]:
    """The arguments, by position, that an operator changes beside its outs and returns."""
    if operator in _CHANGES_FIRST or is_in_place(operator):
        return (0,)
    return _CHANGES_CACHES.get(operator, ())


def returns_nothing(operator: str) -> bool:
    """Whether a call has neither out arguments nor a return behind its arguments."""
    return operator in _CHANGES_FIRST
