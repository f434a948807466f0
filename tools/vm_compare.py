"""`et-vm compare`: a program and its reference on the same inputs, value by value."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from et_schema.errors import ExecutorchError
from et_schema.wording import count
from et_tools.check_passes import Deviation, deviations
from et_tools.comparison.matching import Pair, match_values
from et_tools.comparison.recording import ObservedValue
from et_tools.comparison.sides import Side, is_factory, open_side
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.level_runs import ModuleRun
from et_tools.messages import print_message
from et_tools.progress import activity
from et_tools.streams import fit, line_width
from et_tools.vm_files import BadFile
from et_tools.vm_inputs import method_inputs, method_name

__all__ = ["compare_files"]

SHOWN = 20


def compare_files(args: argparse.Namespace) -> int:
    """Compare, and print the gaps; returns 1 if a result differs by more than its bound, or has a NaN or infinity that
    `--nan` asks for.

    Raises BadFile, UsageError, and what reading, exporting and evaluating raise.
    """
    if args.reference is None and not args.nan:
        raise UsageError("et-vm compare needs a reference: another .pte, a .mlir, or file.py:factory")
    results: list[Deviation] = []
    matched: tuple[list[Pair], str] = [], ""
    with activity(f"comparing {args.file}"), TemporaryDirectory() as folder:
        rebuilt = _rebuilt_map(args, Path(folder))
        ours = _opened(args.file, args, args.debug_map or rebuilt)
        reference = None if args.reference is None else _opened(args.reference, args, args.reference_map)
        method = method_name(ours, args.method)
        if reference is not None and method not in reference.method_names:
            raise UsageError(
                f"{reference.file} has no method {method!r}: {', '.join(reference.method_names)}; "
                "compare programs of the same methods"
            )
        inputs = _inputs(args, method, ours, reference)
        run = _run(ours, method, inputs)
        if reference is not None:
            other = _run(reference, method, inputs)
            results = deviations(method, run, other, args.bound)
            matched = match_values(run.values, other.values, args.bound)
    report: dict[str, Any] = {"file": args.file, "reference": args.reference, "method": method}
    failed = False
    lines: list[str] = []
    if args.nan:
        makers = _makers(run, inputs)
        report["non_finite"] = [{"what": what, **_where(value)} for what, value in makers]
        failed = bool(makers)
        for what, value in makers:
            print_message("et-vm", f"{args.file}: {_named(value)} makes the first {what}")
        lines += [f"first {what}: {_named(value)}" for what, value in makers] or ["no NaN or infinity"]
    if reference is not None:
        pairs, by = matched
        wrong = [one for one in results if one.exceeds]
        report |= _json(results, pairs, by, failed=bool(wrong))
        lines += _lines(results, pairs, by, args, wrong, _way_to_nodes(args))
        if rebuilt is not None:
            lines.insert(1, f"debug map: of {args.reference}, which et-compile compiles to the same file")
        for one in wrong:
            print_message("et-vm", f"{args.file}: {one}")
        failed = failed or bool(wrong)
    if args.json:
        print(json.dumps(report, indent=2))
    else:
        width = line_width(sys.stdout, wide=args.wide)
        print("\n".join(fit(line, width) for line in lines))
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _rebuilt_map(args: argparse.Namespace, folder: Path) -> str | None:
    """A debug map of a file without one, by compiling the reference, if that is what the file was made of."""
    from et_tools.comparison.rebuilt import rebuilt_map

    if args.debug_map is not None or not args.file.endswith(".pte") or not is_factory(args.reference or ""):
        return None
    try:
        return rebuilt_map(args.file, args.reference, folder)
    except ExecutorchError as error:
        raise BadFile(args.file, error) from error


def _opened(spec: str, args: argparse.Namespace, debug_map: str | None) -> Side:
    try:
        return open_side(spec, args, debug_map)
    except ExecutorchError as error:
        raise BadFile(spec, error) from error


def _run(side: Side, method: str, inputs: Sequence[Any]) -> ModuleRun:
    try:
        return side.run(method, inputs)
    except ExecutorchError as error:
        raise BadFile(side.file, error) from error


def _inputs(args: argparse.Namespace, method: str, ours: Side, reference: Side | None) -> list[Any]:
    signature = ours.signature(method)
    theirs = None if reference is None else reference.signature(method)
    if theirs is not None and signature is not None and theirs.num_inputs() != signature.num_inputs():
        assert reference is not None
        raise UsageError(
            f"{method} of {ours.file} takes {count(signature.num_inputs(), 'input')}, of {reference.file} "
            f"{theirs.num_inputs()}"
        )
    if not args.input:
        for side in (ours, reference):
            examples = None if side is None else side.examples(method)
            if examples is not None:
                return examples
    signature = signature or theirs
    if signature is None:
        return []
    return [one.value for one in method_inputs(signature, args.input or ["random:0"])]


def _makers(run: ModuleRun, inputs: Sequence[Any]) -> list[tuple[str, ObservedValue]]:
    """The first value with a NaN and the first with an infinity, but for what the inputs have."""
    found: list[tuple[str, ObservedValue]] = []
    for what, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        if any(_has(test, value) for value in inputs):
            continue
        maker = next((value for value in run.values if _has(test, value.value)), None)
        if maker is not None:
            found.append((what, maker))
    return found


def _has(test: Any, value: Any) -> bool:
    array = np.asarray(value) if isinstance(value, np.ndarray | float) else None
    return array is not None and array.dtype.kind in "fcV" and bool(test(array.astype(np.complex128)).any())


def _where(value: ObservedValue) -> dict[str, Any]:
    return {
        "operator": value.operator,
        "node": value.node,
        "output": value.index,
        "step": list(value.step),
        "module": value.place.module,
        "source": value.place.json(),
        "fused": [
            {"node": node, "module": place.module, "source": place.json()} for node, place in value.fused
        ],
    }


def _named(value: ObservedValue) -> str:
    others = ", ".join(dict.fromkeys(node for node, _ in value.fused))
    node = f" (node {value.node}{f', computed with {others}' if others else ''})" if value.node else ""
    source = f" at {value.place.source}" if value.line or value.place.module else f", step {value.step[0]}"
    return f"{value.operator}{node}{source}"


def _source(value: ObservedValue) -> str:
    return value.place.source if value.line else ""


def _is_sure(by: str, *, failed: bool) -> bool:
    """Whether pairs that differ are values that differ. Where nodes are not known, an op that a pass has made or
    dropped gives pairs of other values, which is the likelier reason if results agree.
    """
    return by == "node" or failed


def _way_to_nodes(args: argparse.Namespace) -> str:
    """The option that has values matched for sure; empty where there is none, or it is given."""
    if args.debug_map is not None or not args.file.endswith((".pte", ".bpte", ".etdp", ".etdump", "-")):
        return ""
    return "give --debug-map FILE, which et-compile --debug-map FILE writes"


def _json(results: Sequence[Deviation], pairs: Sequence[Pair], by: str, *, failed: bool) -> dict[str, Any]:
    first = next((pair for pair in pairs if pair.exceeds and _is_sure(by, failed=failed)), None)
    return {
        "results": [
            {"what": one.what, "bound": one.bound, "exceeds": one.exceeds, **one.gap.json()}
            for one in results
        ],
        "matched_by": by,
        "values": [_pair_json(pair) for pair in pairs],
        "first": None if first is None else _pair_json(first),
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        **_where(pair.value),
        "reference_operator": pair.reference.operator,
        "reference_node": pair.reference.node,
        "bound": pair.bound,
        "exceeds": pair.exceeds,
        **pair.gap.json(),
    }


def _lines(
    results: Sequence[Deviation],
    pairs: Sequence[Pair],
    by: str,
    args: argparse.Namespace,
    wrong: Sequence[Deviation],
    way: str,
) -> list[str]:
    beyond = [pair for pair in pairs if pair.exceeds]
    agreement = f"{len(wrong)} of {count(len(results), 'result')} beyond the bound"
    if not _is_sure(by, failed=bool(wrong)):
        # Results agree: these are pairs of different values.
        pairs = [pair for pair in pairs if not pair.exceeds]
        lines = [f"{count(len(pairs), 'intermediate value')} matched by {by}; {agreement}"]
        if beyond:
            lines.append(
                f"{count(len(beyond), 'value')} cannot be matched for sure by {by}"
                + (f": {way}" if way else "")
            )
        beyond = []
    else:
        lines = [
            f"{count(len(pairs), 'intermediate value')} matched by {by}, {len(beyond)} beyond the bound; {agreement}"
        ]
    if beyond:
        why = "" if wrong else " (results agree: passes may have fused it)"
        label = (
            "first difference"
            if by == "node"
            else f"first difference, if values matched by {by} are the same"
        )
        lines.append(f"{label}: {_named(beyond[0].value)}: {beyond[0].gap}{why}")
        if by != "node" and way:
            lines.append(f"to match values for sure: {way}")
    shown = list(pairs) if args.all else beyond[:SHOWN]
    rows = [
        (_source(pair.value), pair.value.node, pair.value.operator, pair.gap, pair.exceeds) for pair in shown
    ]
    rows += [("", "", one.what, one.gap, one.exceeds) for one in results]
    lines.append("")
    lines.append(
        f"{'':2}{'value':34}{'relative':>10}{'max':>10}{'MSE':>10}{'SQNR dB':>9}{'cosine':>10}  source"
    )
    for source, node, operator, gap, exceeds in rows:
        name = f"{node}: {operator}" if node else operator
        mark = "*" if exceeds else " "
        if gap.note:
            lines.append(f"{mark} {fit(name, 33):34}{gap.note}  {source}".rstrip())
            continue
        lines.append(
            f"{mark} {fit(name, 33):34}{gap.relative:10.2g}{gap.max_abs:10.2g}{gap.mse:10.2g}{gap.sqnr:9.1f}"
            f"{gap.cosine:10.6f}  {source}".rstrip()
        )
    if not args.all and len(beyond) > SHOWN:
        lines.append(f"  … {len(beyond) - SHOWN:,} more (--all)")
    return lines
