"""xDSL universe of this package's dialects and passes.

xDSL's tools find it by the entry point `xdsl.universe`.

Dialects and passes are factories, so that a tool loads those it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from et_ir.passes import pass_factories
from et_schema.backend_packages import backend_packages, load_part

__all__ = ["ET_UNIVERSE", "dialect_factories", "dialect_places", "published_dialects", "published_passes"]

_DIALECTS: Final = {
    "aten": "et_ir.dialects.aten:Aten",
    "backend": "et_ir.dialects.backend:Backend",
    "control": "et_ir.dialects.control:Control",
    "edge": "et_ir.dialects.edge:Edge",
    "executorch": "et_ir.dialects.executorch:Executorch",
    "program": "et_ir.dialects.program:Program",
}
"""The levels and what they share."""


def dialect_places() -> dict[str, str]:
    """Module and attribute of each dialect by name, those of backend packages too."""
    return {**backend_packages().named("dialects"), **_DIALECTS}


def published_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects as `xdsl-opt` has them: loading one makes all of its op classes.

    xDSL has a `tosa` of its own, of fewer ops: `xdsl-opt` keeps that one, as two of one name end every command.
    """
    theirs = get_all_dialects()
    return {name: partial(load_part, place) for name, place in dialect_places().items() if name not in theirs}


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """The dialects by name, for contexts of `et_ir.text`, whose parser makes the classes of the operators it meets."""
    return {name: partial(_attributes, place) for name, place in dialect_places().items()}


def _attributes(place: str) -> Dialect:
    from et_ir.dialects.schema.classes import OperatorDialect

    dialect: Dialect = load_part(place)
    return dialect.without_operations() if isinstance(dialect, OperatorDialect) else dialect


def published_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes as `xdsl-opt` has them: where xDSL has one of the same name, ours is published as `et-<name>`.

    Two passes of one name end every command of xDSL with an error. `et-opt` takes ours for the plain name.
    """
    theirs = get_all_passes()
    return {
        (f"et-{name}" if name in theirs else name): (_renamed(factory) if name in theirs else factory)
        for name, factory in pass_factories().items()
    }


def _renamed(factory: Callable[[], type[ModulePass]]) -> Callable[[], type[ModulePass]]:
    """A pass called `et-<name>`: pipelines check that a class has the name it is asked for by."""

    def load() -> type[ModulePass]:
        cls = factory()
        return type(cls.__name__, (cls,), {"name": f"et-{cls.name}", "__doc__": cls.__doc__})

    return load


ET_UNIVERSE: Final = Universe(all_dialects=published_dialects(), all_passes=published_passes())
