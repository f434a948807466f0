"""The memory of the tensors that a function of torch makes, counted where operators are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["NewTensors"]


class NewTensors(TorchDispatchMode):
    """The most bytes of tensors that were alive at a time, without those that there were before."""

    def __init__(self, before: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._kept = [one.untyped_storage() for one in before]
        self._before = {one._cdata for one in self._kept}  # pyright: ignore[reportPrivateUsage]
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self._bytes = 0
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in pytree.tree_leaves((args, kwargs, result)):
            if type(leaf) in (torch.Tensor, torch.nn.Parameter):
                storage = leaf.untyped_storage()
                known = self._alive.get(storage._cdata)  # pyright: ignore[reportPrivateUsage]
                if storage._cdata not in self._before and (known is None or known[0].expired()):
                    self._alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
                    self._bytes += storage.nbytes() - (0 if known is None else known[1])
        if self._bytes > self.peak:
            self._alive = {key: one for key, one in self._alive.items() if not one[0].expired()}
            self._bytes = sum(size for _, size in self._alive.values())
            self.peak = max(self.peak, self._bytes)
        return result
