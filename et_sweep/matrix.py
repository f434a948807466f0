"""Matrix files: axes, filters and settings of a sweep, in TOML."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any, Final, cast

from et_schema.diagnostics import did_you_mean

__all__ = ["AXES", "NONE", "Cell", "Matrix", "MatrixError", "Timing", "read_matrix"]

NONE: Final = "none"
"""The value of an axis for cells without its option."""

AXES: Final = ("model", "backend", "target", "level", "quantize", "load", "options", "threads")
"""Axes, in the order of keys. The last varies fastest."""

_LEVELS: Final = ("0", "1", "2", "s")
_TABLES: Final = ("name", "seed", "timeout", "axes", "include", "exclude", "timing")


class MatrixError(ValueError):
    """A matrix file that cannot be swept: the message says where and what to do."""


@dataclass(frozen=True)
class Timing:
    """How executions are timed."""

    noise: float = 0.02
    """The bound on the relative standard error of the median, at which a cell has been timed enough."""
    seconds: float = 5.0
    """The most seconds that executions of a cell may take in all; then its row says that the bound is not met."""
    least: int = 5
    """The least number of executions."""
    enabled: bool = True
    """Whether there are times at all."""


@dataclass(frozen=True)
class Cell:
    """A point of the matrix: a value of each axis."""

    values: tuple[str, ...]

    def __getitem__(self, axis: str) -> str:
        return self.values[AXES.index(axis)]

    @property
    def key(self) -> str:
        """Its name in tables: the values that are not `none`."""
        return " ".join(
            f"{axis}={shlex.quote(value)}"
            for axis, value in zip(AXES, self.values, strict=True)
            if value != NONE
        )

    @property
    def loaded(self) -> str | None:
        """The file of its `--load`."""
        return None if self["load"] == NONE else shlex.split(self["load"])[0]

    @property
    def arguments(self) -> list[str]:
        """Its options of `et-compile`, after the model."""
        found: list[str] = []
        for axis, option in (("backend", "--backend"), ("target", "--target"), ("quantize", "--quantize")):
            if self[axis] != NONE:
                found += [option, self[axis]]
        if self["level"] != NONE:
            found.append(f"-O{self['level']}")
        if self["load"] != NONE:
            file, *passes = shlex.split(self["load"])
            found += ["--load", file]
            for one in passes:
                found += ["--pass", one]
        return found + (shlex.split(self["options"]) if self["options"] != NONE else [])

    @property
    def command(self) -> str:
        """The command that compiles it, in the folder of the matrix."""
        return shlex.join(["et-compile", self["model"], *self.arguments, "-o", "model.pte"])

    def json(self) -> dict[str, str]:
        """Its values by axis."""
        return dict(zip(AXES, self.values, strict=True))


@dataclass(frozen=True)
class Matrix:
    """Cells of a sweep and its settings."""

    name: str
    folder: Path
    """The folder of the matrix file: names of models and files are relative to it."""
    cells: tuple[Cell, ...]
    seed: int = 0
    """Seed of random inputs of models that have no example inputs."""
    timeout: float = 3600.0
    """The most seconds that a compilation may take."""
    timing: Timing = field(default_factory=Timing)


def read_matrix(file: str | Path) -> Matrix:
    """The matrix in a TOML file. Raises `MatrixError`, and `OSError` for a file that cannot be read."""
    path = Path(file)
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MatrixError(f"{file}: {error}") from None
    try:
        return _matrix(found, path)
    except MatrixError as error:
        raise MatrixError(f"{file}: {error}") from None


def _matrix(found: Mapping[str, Any], path: Path) -> Matrix:
    _check_names("", found, _TABLES)
    axes = found.get("axes")
    if not isinstance(axes, dict) or "model" not in axes:
        raise MatrixError('there is no axis of models: give [axes] with model = ["file.py:factory"]')
    given = cast("dict[str, Any]", axes)
    _check_names("axes.", given, AXES)
    values = [_axis(name, given[name]) if name in given else (NONE,) for name in AXES]
    cells = [Cell(one) for one in product(*values)]
    for index, table in enumerate(_tables(found, "exclude")):
        chosen = _filter(f"exclude[{index}]", table, values)
        kept = [cell for cell in cells if not all(cell[axis] in allowed for axis, allowed in chosen.items())]
        if len(kept) == len(cells):
            raise MatrixError(f"exclude[{index}] excludes no cell: {_text(table)}")
        cells = kept
    for index, table in enumerate(_tables(found, "include")):
        where = f"include[{index}]"
        _check_names(f"{where}.", table, AXES)
        if "model" not in table:
            raise MatrixError(f"{where} has no model")
        cells += [
            Cell(one)
            for one in product(*(_axis(f"{where}.{n}", table[n]) if n in table else (NONE,) for n in AXES))
        ]
    if not cells:
        raise MatrixError("the filters leave no cell")
    _check_cells(cells, path.parent)
    name = found.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise MatrixError("name is not a text")
    return Matrix(
        name,
        path.parent.resolve(),
        tuple(cells),
        int(_number("seed", found.get("seed", 0))),
        _number("timeout", found.get("timeout", 3600.0), least=1e-3),
        _timing(found.get("timing", {})),
    )


def _timing(table: Any) -> Timing:
    if isinstance(table, bool):
        return Timing(enabled=table)
    if not isinstance(table, dict):
        raise MatrixError("timing is neither a table nor false")
    given = cast("dict[str, Any]", table)
    _check_names("timing.", given, [one.name for one in fields(Timing) if one.name != "enabled"])
    found = {name: _number(f"timing.{name}", value, least=1e-6) for name, value in given.items()}
    if "least" in found:
        found["least"] = max(2, int(found["least"]))
    return Timing(**found)  # pyright: ignore[reportArgumentType]


def _check_names(where: str, found: Iterable[str], known: Sequence[str]) -> None:
    for name in found:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
            raise MatrixError(f"{where}{name}: there is no such key{hint}")


def _axis(name: str, values: Any) -> tuple[str, ...]:
    listed = cast("list[Any]", values if isinstance(values, list) else [values])
    if not listed:
        raise MatrixError(f"the axis {name} names nothing: give a value, '{NONE}' for cells without it")
    found: list[str] = []
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise MatrixError(f"the axis {name}: {value!r} is neither a text nor a whole number")
        found.append(str(value))
    kind = name.rpartition(".")[2]
    for value in found:
        if kind == "level" and value not in (*_LEVELS, NONE):
            raise MatrixError(f"the axis {name}: {value!r} is no level, give one of {', '.join(_LEVELS)}")
        if kind == "threads" and value != NONE and not (value.isdecimal() and int(value)):
            raise MatrixError(f"the axis {name}: {value!r} is not a positive number")
        if kind in ("load", "options"):
            try:
                shlex.split(value)
            except ValueError as error:
                raise MatrixError(f"the axis {name}: {value!r}: {error}") from None
    return tuple(found)


def _filter(where: str, table: Mapping[str, Any], values: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    _check_names(f"{where}.", table, AXES)
    found = {axis: set(_axis(f"{where}.{axis}", value)) for axis, value in table.items()}
    for axis, chosen in found.items():
        for value in sorted(chosen):
            there = values[AXES.index(axis)]
            if value not in there:
                hint = did_you_mean(value, there)
                raise MatrixError(f"{where}.{axis}: the axis {axis} has no value {value!r}{hint}")
    return found


def _tables(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    tables: Any = found.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in cast("list[Any]", tables)):
        raise MatrixError(f"{name} is no list of tables: write [[{name}]]")
    return cast("list[dict[str, Any]]", tables)


def _check_cells(cells: Sequence[Cell], folder: Path) -> None:
    """Raise `MatrixError` for two cells with one key, and for names of nothing: models, backends, targets, files."""
    from et_ir.delegation.backends_by_name import backend_names, split_backends
    from et_ir.targets.lookup import TargetError, find_target

    seen: set[str] = set()
    for cell in cells:
        if cell.key in seen:
            raise MatrixError(f"two cells have the key {cell.key}")
        seen.add(cell.key)
    for model in dict.fromkeys(cell["model"] for cell in cells):
        _check_model(model, folder)
    for name in dict.fromkeys(cell.loaded for cell in cells):
        if name is not None and not (folder / name).is_file():
            raise MatrixError(f"the axis load: {name} is no file in {folder}")
    if any(cell.loaded is not None for cell in cells):
        return  # files may bring backends and targets
    for text in dict.fromkeys(cell["backend"] for cell in cells if cell["backend"] != NONE):
        for one in split_backends(text):
            name = one.partition(":")[0]
            if name not in backend_names():
                hint = did_you_mean(name, backend_names()) or f"; there are {', '.join(backend_names())}"
                raise MatrixError(f"the axis backend: there is no backend {name!r}{hint}")
    for name in dict.fromkeys(cell["target"] for cell in cells):
        if name != NONE and ":" not in name:
            try:
                find_target(name)
            except TargetError as error:
                raise MatrixError(f"the axis target: {error}") from None


def _check_model(model: str, folder: Path) -> None:
    kind, _, rest = model.partition(":")
    if kind == "hf":
        if not (folder / rest).is_dir():
            raise MatrixError(f"the axis model: {rest} is no folder in {folder}")
        return
    file = model if model.endswith((".pt2", ".mlir", ".pte")) else model.rpartition(":")[0]
    if not file.endswith((".py", ".pt2", ".mlir", ".pte")):
        # Of a module on the Python path, nothing says when a result is out of date.
        raise MatrixError(f"the axis model: {model!r} is no file.py:factory, .pt2 or hf:FOLDER")
    if not (folder / file).is_file():
        raise MatrixError(f"the axis model: {file} is no file in {folder}")


def _number(name: str, value: Any, least: float = 0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e18:
        raise MatrixError(f"{name} is not a number from {least:g}")
    return float(value)


def _text(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in table.items())
