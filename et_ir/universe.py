"""What this package adds to xDSL's tools, published through the entry point `xdsl.universe`.

Dialects and passes are factories, so that a tool loads those it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from xdsl.ir import Dialect
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from et_ir.passes import pass_factories

__all__ = ["DIALECTS", "ET_UNIVERSE", "dialect_factories"]

DIALECTS: Final = {
    "aten": "et_ir.dialects.aten:Aten",
    "backend": "et_ir.dialects.backend:Backend",
    "edge": "et_ir.dialects.edge:Edge",
    "executorch": "et_ir.dialects.executorch:Executorch",
    "program": "et_ir.dialects.program:Program",
}
"""Where each dialect is: module and attribute."""


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """Zero-argument factories by dialect name."""

    def factory(place: str) -> Callable[[], Dialect]:
        def load() -> Dialect:
            module, _, attribute = place.partition(":")
            return getattr(import_module(module), attribute)

        return load

    return {name: factory(place) for name, place in DIALECTS.items()}


ET_UNIVERSE: Final = Universe(
    all_dialects=dialect_factories(),
    # xDSL refuses a second pass of one name; et-opt takes ours, xdsl-opt keeps its own.
    all_passes={name: factory for name, factory in pass_factories().items() if name not in get_all_passes()},
)
