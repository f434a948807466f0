"""Modes of quantization by name: `int8`, `int8:results=32`, `int8-dynamic`, `int8-weights`, `8da4w:group=32`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from torch import nn

from et_ir.quantization.operators import no_match
from et_schema.backend_packages import backend_packages
from et_schema.diagnostics import did_you_mean, same_numbers
from et_schema.whole_numbers import shortened, whole_number

__all__ = ["MODES", "QuantizationError", "QuantizationMode", "check_patterns", "paths_of"]

MODES: Final = ("int8", "int8-dynamic", "int8-weights", "8da4w")
_GROUP: Final = 32
"""Elements that share a scale in 4 bits, unless the mode says otherwise."""

_OPTIONS: Final = {
    "int8": {"functions": ("8", "32"), "results": ("8", "32")},
    "8da4w": {"group": (), "embedding": ("4", "8")},
}
"""Options of modes, and their values; none stand for any number of elements."""
_SHOWN: Final = {"8da4w": ("group=N", "embedding=4"), "int8": ("functions=8", "results=32")}


class QuantizationError(ValueError):
    """A module that cannot be quantized as asked, with the layer or the data that is the reason."""


@dataclass(frozen=True)
class QuantizationMode:
    """A mode and its parameter."""

    name: str
    """One of `int8`, `int8-dynamic`, `int8-weights` and `8da4w`."""
    group: int = _GROUP
    """Neighbours in a row of a weight that share a scale, in `8da4w`."""
    embedding: int = 8
    """Bits of the rows of tables in `8da4w`: 8 with a scale for each row, or 4 with one for each group."""
    functions: int = 32
    """Bits of softmax, normalizations, functions and products of two computed matrices in `int8`: 32, floats, or 8."""
    results: int | None = None
    """Bits of what layers and the operators between them give in `int8`: 8, or 32, floats, so that what layers read is
    rounded, and nothing else. `None`: 8 unless backends are known that give floats (`for_backends`).
    """

    @staticmethod
    def parse(text: str) -> QuantizationMode:
        """`8da4w:group=64,embedding=4`. Raises `QuantizationError` for anything that is no mode."""
        name, _, options = text.partition(":")
        if name not in MODES:
            raise QuantizationError(
                f"'{name}' is not a quantization mode: expected one of {', '.join(MODES)} (of 4 bits)"
                f"{did_you_mean(name, same_numbers(name, MODES))}"
            )
        mode = QuantizationMode(name)
        known = _OPTIONS.get(name, {})
        for option in filter(None, options.split(",")):
            key, _, value = option.partition("=")
            if key not in known:
                has = "; ".join(f"{one} has {' and '.join(given)}" for one, given in _SHOWN.items())
                raise QuantizationError(f"the mode {name} has no option '{key}'; {has}")
            values = known[key]
            if values and value not in values:
                raise QuantizationError(f"{key}={value}: expected {' or '.join(values)} bits")
            number = whole_number(value)
            if number is None or (not values and number < 2):
                raise QuantizationError(
                    f"{key}={shortened(value)}: expected a number of elements, at least 2"
                )
            mode = replace(mode, **{key: number})
        if mode.functions == 8 and mode.results == 32:
            raise QuantizationError("functions=8 rounds results of functions to 8 bits: leave out results=32")
        return mode

    def for_backends(self, names: Iterable[str]) -> QuantizationMode:
        """The mode for a program that backends compile, by the names of their packages. Where the mode leaves it open,
        results are floats if all of them give these (`BackendPackage.float_results`).
        """
        if self.name != "int8" or self.results is not None or self.functions == 8:
            return self
        packages = backend_packages().found
        chosen = [packages.get(name) for name in names]
        give_floats = bool(chosen) and all(one is not None and one.float_results for one in chosen)
        return replace(self, results=32 if give_floats else 8)

    @property
    def rounds_results(self) -> bool:
        """Whether more is rounded than what layers read."""
        return self.name == "int8" and self.results != 32

    @property
    def needs_calibration(self) -> bool:
        """Whether scales are chosen from what the module computes of data."""
        return self.name == "int8"

    def __str__(self) -> str:
        if self.name != "8da4w":
            options = ["functions=8"] * (self.functions == 8) + ["results=32"] * (self.results == 32)
            return f"{self.name}:{','.join(options)}" if options else self.name
        return f"{self.name}:group={self.group}" + (",embedding=4" if self.embedding == 4 else "")

    def why_not(self, module: nn.Module) -> str:
        """Why a linear layer or a table cannot be quantized; empty if it can be."""
        width: Any = getattr(module, "in_features", None) or getattr(module, "embedding_dim", 0)
        in_groups = self.name == "8da4w" and (isinstance(module, nn.Linear) or self.embedding == 4)
        if in_groups and width % self.group:
            what = "inputs" if isinstance(module, nn.Linear) else "columns"
            return f"groups of {self.group} do not divide its {width} {what}"
        return ""


def paths_of(module: nn.Module) -> list[str]:
    """The paths of a module and those in it."""
    return [name for name, _ in cast("Iterable[tuple[str, nn.Module]]", module.named_modules())]


def check_patterns(patterns: Sequence[str], names: Iterable[str]) -> None:
    """Raise `QuantizationError` for a pattern of `keep_float` that matches none of the names."""
    known = list(names)
    for pattern in patterns:
        reason = no_match(pattern, known)
        if reason:
            raise QuantizationError(reason)
