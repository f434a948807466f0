"""The report of a quantization: tables of layers and trials, what stays in floats, and results that are lost."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isnan
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from et_ir.quantization import (
        AccuracySearch,
        Layer,
        QuantizedModule,
        QuantizedOperator,
        Remedy,
        Unquantized,
    )

__all__ = ["lost_results", "print_report", "report_json"]

SHOWN = 4
"""Places of an operator, and options of a remedy, that are shown."""
WIDTH = 120
"""Columns of the tables, where they are not for a terminal."""


_RULES: Final = ("what layers read", "operands and results of layers and of what is between them")
"""Descriptions of the rounded values: of layers' operands alone, and of results, too."""


def print_report(method: str, found: QuantizedModule, search: AccuracySearch | None, stream: IO[str]) -> None:
    """Print a table of the layers of a method, the trials of a search, and what is in floats."""
    tables = [_layers(method, found)]
    if search is not None:
        tables.append(_trials(search))
    _print(tables, stream)
    if found.mode is not None and found.rounded:
        rule = _RULES[found.mode.rounds_results]
        print(f"values rounded to 8 bits: {found.rounded} ({found.mode}: {rule})", file=stream)
    for line in _floats(found.unquantized):
        print(line, file=stream)


def report_json(method: str, found: QuantizedModule) -> dict[str, Any]:
    """The same as an object: ratios in dB, None where nothing was lost."""
    return {
        "method": method,
        "mode": None if found.mode is None else str(found.mode),
        "rounded": found.rounded,
        "layers": [
            {
                "name": layer.name,
                "operator": layer.operator,
                "bytes_before": layer.bytes_before,
                "bytes_after": layer.bytes_after,
                "weight_sqnr": layer.weight_sqnr if isfinite(layer.weight_sqnr) else None,
                "output_sqnr": layer.output_sqnr if isfinite(layer.output_sqnr) else None,
            }
            for layer in found.layers
        ],
        "operators": [
            {
                "name": one.name,
                "operator": one.operator,
                "place": one.place,
                "own_sqnr": one.own_sqnr if isfinite(one.own_sqnr) else None,
                "output_sqnr": one.output_sqnr if isfinite(one.output_sqnr) else None,
            }
            for one in found.operators
        ],
        "unquantized": [str(one) for one in found.unquantized],
    }


def lost_results(method: str, remedy: Remedy) -> str:
    """The warning of results that are lost in noise: the first operator that loses them, and what to keep in floats."""
    first = remedy.operators[0]
    options = [f"--keep-float '{pattern}'" for pattern in remedy.keep_float]
    if len(options) > SHOWN:
        advice = f"{len(options)} operators have to stay in floats: search for the fewest with --accuracy"
    else:
        advice = f"{' '.join(options)} makes it {_decibels(remedy.output_sqnr)}"
        if not isfinite(remedy.output_sqnr):
            advice = f"{' '.join(options)} leaves nothing quantized that reaches them"
    return (
        f"the results of '{method}' are lost in the noise of 8 bits: {_decibels(remedy.found_sqnr)} on the calibration "
        f"data; the first operator that loses them is {first.subject}, alone {_decibels(first.own_sqnr)}"
        f"\n  fix: {advice}"
    )


def _floats(left: Sequence[Unquantized]) -> list[str]:
    """What stays in floats, by reason: where, how often, and what would quantize it."""
    groups: dict[tuple[str, str], list[Unquantized]] = {}
    for one in left:
        groups.setdefault((one.reason, one.fix), []).append(one)
    lines: list[str] = []
    for (reason, fix), group in groups.items():
        if len(group) == 1:
            lines.append(f"not quantized: {group[0]}")
        else:
            lines.append(f"not quantized: {len(group)} operators: {reason}")
            lines += _places(group)
        if fix:
            lines.append(f"  fix: {fix}")
    return lines


def _places(group: Sequence[Unquantized]) -> list[str]:
    """A line for each operator of a group, with where the first calls are."""
    by_operator: dict[str, list[Unquantized]] = {}
    for one in group:
        by_operator.setdefault(one.operator, []).append(one)
    lines: list[str] = []
    for operator, calls in by_operator.items():
        places = dict.fromkeys(
            f"{one.where}{': ' if one.detail and one.where else ''}{one.detail}" for one in calls
        )
        shown = [place for place in places if place][:SHOWN]
        more = ", …" if len(places) > SHOWN else ""
        lines.append(f"  {len(calls)} {operator}{': ' if shown else ''}{', '.join(shown)}{more}")
    return lines


def _layers(method: str, found: QuantizedModule) -> Any:
    """Layers with weights and, between them, the other operators that are quantized."""
    from rich.table import Table

    table = Table("layer", box=None, pad_edge=False, title=f"method {method}", title_justify="left")
    table.add_column("operator")
    for column in ("bytes", "quantized", "ratio", "SQNR of weight", "of output", "alone"):
        table.add_column(column, justify="right")
    pending = list(found.operators)
    for layer in found.layers:
        at = next((number for number, one in enumerate(pending) if _is_layer(one, layer)), None)
        for one in pending[: at or 0]:
            _add_operator(table, one)
        alone = "" if at is None else _decibels(pending[at].own_sqnr)
        pending = pending if at is None else pending[at + 1 :]
        table.add_row(
            layer.name,
            layer.operator,
            *_sizes(layer.bytes_before, layer.bytes_after),
            _decibels(layer.weight_sqnr),
            _decibels(layer.output_sqnr),
            alone,
        )
    for one in pending:
        _add_operator(table, one)
    sizes = [
        sum(layer.bytes_before for layer in found.layers),
        sum(layer.bytes_after for layer in found.layers),
    ]
    table.add_row("all", "", *_sizes(*sizes), "", "", "")
    return table


def _is_layer(operator: QuantizedOperator, layer: Layer) -> bool:
    """Whether an operator is a layer with a weight."""
    return operator.module == layer.name and operator.operator.split(".")[1] == layer.operator


def _add_operator(table: Any, one: QuantizedOperator) -> None:
    name = one.operator.split(".")[1]
    table.add_row(one.name, name, "", "", "", "", _decibels(one.output_sqnr), _decibels(one.own_sqnr))


def _sizes(before: int, after: int) -> tuple[str, str, str]:
    return f"{before:,}", f"{after:,}", f"{after / before:.2f}" if before else "-"


def _decibels(ratio: float) -> str:
    return "-" if ratio == inf or isnan(ratio) else f"{ratio:.1f} dB"


def _trials(search: AccuracySearch) -> Any:
    from rich.table import Table

    table = Table("operators in floats", box=None, pad_edge=False)
    table.add_column("quality", justify="right")
    table.add_column("of floats", justify="right")
    table.add_row("all", f"{search.float_quality:.6g}", "100.00%")
    for trial in search.trials:
        names = ", ".join(trial.kept) or "none"
        part = trial.quality / search.float_quality if search.float_quality else 1.0
        chosen = " (chosen)" if trial.kept == search.kept else ""
        table.add_row(f"{names}{chosen}", f"{trial.quality:.6g}", f"{part:.2%}")
    return table


def _print(tables: Sequence[Any], stream: IO[str]) -> None:
    from rich.console import Console

    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for table in tables:
        with console.capture() as captured:
            console.print(table)
        print("\n".join(line.rstrip() for line in captured.get().splitlines()), file=stream)
        print(file=stream)
