"""The example architectures by name. Each factory returns `(module in eval mode, example arguments)`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

# One factory per file, both named after the model.
NAMES = ("mobilenet_v2", "resnet18", "bert", "llama")

MORE = ("mobilenet_v3", "vit", "unet", "detector")
"""Further ones, of kinds that backends for images and attention meet."""


def factory(name: str) -> Callable[[], tuple[nn.Module, tuple[Any, ...]]]:
    """The factory of model `name`; raises `KeyError` naming the choices."""
    if name not in (*NAMES, *MORE):
        raise KeyError(f"no example model {name!r}; there are {', '.join((*NAMES, *MORE))}")
    return getattr(import_module(f"{__name__}.{name}"), name)
