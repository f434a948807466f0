"""The table of translations by kind of node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from et_backends.xnnpack.runtime.site import Site
from et_vm.step import Step


class NodeTranslation(NamedTuple):
    """`translate` takes the site and the node. With `moves`, results are elements of the operands."""

    translate: Callable[[Site, Any], list[Step]]
    moves: bool


TRANSLATIONS: dict[type, NodeTranslation] = {}

_Translate = TypeVar("_Translate", bound=Callable[[Site, Any], list[Step]])


def translates(*kinds: type, moves: bool = False) -> Callable[[_Translate], _Translate]:
    """Mark a function as the translation of nodes of these kinds."""

    def declare(translate: _Translate) -> _Translate:
        for kind in kinds:
            TRANSLATIONS[kind] = NodeTranslation(translate, moves)
        return translate

    return declare
