"""Make `examples.txt`, one call of every operator as text.

python -m dev.examples            # rewrite the table, which takes a minute or two; then run generate
python -m dev.examples --check    # exit 1 if it is out of date

An operator's example is its call in `example_calls` or, where there is none, what reads best among the calls that
torch's own samples of operators make and calls made up from the schema. Each was run by torch, whose result types it
has, and verified; an operator without one is not in the table.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from dev.example_calls import DIM_ORDER, calls
from dev.integer_calls import INTEGER
from dev.quantized_calls import RUNTIME_EXAMPLES
from et_ir.dialects.aten import OP_BY_NAME, Aten, AtenOp
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.edge import Edge
from et_ir.dialects.schema.examples import EXAMPLES, edge_example
from et_ops import Arg

if TYPE_CHECKING:
    from dev.calls import RecordedCall

__all__ = ["parse_example", "table", "text_of", "written_calls"]


@cache
def _context() -> Context:
    context = Context()
    for dialect in (Builtin, Func, Aten, Edge):
        context.load_dialect(dialect)
    return context


def parse_example(text: str) -> Operation:
    """The operation of an example, in a function whose arguments are its operands.

    Raises `ParseError` for a text that is no operation.
    """
    call, _, types = text.partition(" : ")
    operands = re.findall(r"%\w+", call.partition(" = ")[2] if call.startswith("%") else call)
    given = types.partition(" -> ")[0]
    inputs = _split_types(given[1:-1]) if given.startswith("(") else [given] * len(operands)
    arguments = ", ".join(f"{name} : {type}" for name, type in zip(operands, inputs, strict=True))
    module = Parser(
        _context(), f"func.func @example({arguments}) {{\n  {text}\n  func.return\n}}"
    ).parse_module()
    (function,) = module.body.block.ops
    op = function.regions[0].block.first_op
    assert op is not None
    return op


def _split_types(text: str) -> list[str]:
    """`tensor<2xf32>, i64` at its commas; those in `<>` are the types' own."""
    return re.findall(r"(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>|[^,<>\s])+", text)


# -- candidates


def text_of(call: RecordedCall) -> str | None:
    """The example that a call is, or `None` if the dialects cannot hold it."""
    from dev.calls import NotExpressible, module_of

    try:
        _, op, _ = module_of(call)
    except (NotExpressible, TypeError, ValueError):
        return None
    _name_values(op)
    text = str(op)
    try:
        parse_example(text).verify()
        if call.name in EDGE:
            parse_example(edge_example(text)).verify()
    except (ParseError, VerifyException, ValueError):
        return None
    return text


def _name_values(op: AtenOp) -> None:
    for arg, value in zip(op.info().tensors, op.tensor_operands(), strict=True):
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                if item is not None:
                    item.name_hint = f"{arg.name}{index}"
        elif value is not None:
            value.name_hint = arg.name
    returns = op.schema().returns
    if op.info().variadic_results:
        for index, result in enumerate(op.results):
            result.name_hint = f"result{index}"
        return
    for index, (ret, result) in enumerate(zip(returns, op.results, strict=True)):
        result.name_hint = f"result{index}" if re.fullmatch(r"result\d*", ret.name) else ret.name
        if len(returns) == 1:
            result.name_hint = "result"


def _cost(text: str) -> tuple[int, str]:
    """Readability cost of an example: its length, and what makes types hard to follow."""
    call, _, types = text.partition(" : ")
    operands = types.partition(" -> ")[0]
    cost = len(call) + 20 * ("none" in call)
    for shape in re.findall(r"tensor<((?:\d+x)*)", types):
        sizes = [int(size) for size in re.findall(r"\d+", shape)]
        cost += 3 * max(0, len(sizes) - 2) + 3 * (len(sizes) == 1) + 5 * (len(set(sizes)) < len(sizes))
        cost += sum({0: 200, 1: 4}.get(size, 6 * (size > 8)) for size in sizes)
    elements = re.findall(r"tensor<(?:\d+x)*(\w+)", operands)
    cost += 40 * operands.count("tensor<f32>") + 40 * (bool(elements) and "f32" not in elements)
    return cost + sum({"f32": 0, "i64": 5}.get(element, 10) for element in set(elements)), text


def _plain(call: RecordedCall) -> RecordedCall:
    """The call without options that say what holds anyway."""
    kwargs = {
        name: value
        for name, value in call.kwargs.items()
        if not (name in ("layout", "device", "pin_memory", "non_blocking") and str(value) in _USUAL)
    }
    return type(call)(call.target, call.args, kwargs, call.results)


_USUAL: Final = {"cpu", "torch.strided", "False", "None"}


def _seed() -> None:
    import torch

    random.seed(0)
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  (its argument is not annotated)


def _run(target: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> RecordedCall | None:
    """The call of an operator, or `None` if torch does not take it."""
    import torch

    from dev.calls import RecordedCall, results_of

    kept = tuple(args)
    try:
        with torch.no_grad():
            result: Any = target(*kept, **kwargs)
    except Exception:
        # Whatever it is that made-up arguments make torch raise: they are not an example.
        return None
    return RecordedCall(target, kept, kwargs, results_of(result))


def written_calls() -> Iterator[RecordedCall]:
    """The calls of `example_calls`. Raises `ValueError` if torch does not take one."""
    _seed()
    for target, args, kwargs in calls():
        call = _run(target, args, kwargs)
        if call is None:
            raise ValueError(f"{target} does not take the arguments in example_calls")
        yield call


def sampled_calls() -> Iterator[RecordedCall]:
    """Calls that torch's samples of all operators make, a few of each."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from dev import calls

    for op_info in cast(list[Any], op_db):
        supported: Any = op_info.supported_dtypes("cpu")
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
            if dtype in supported:
                _seed()
                yield from calls.sampled_calls(op_info, dtype, 8)
                break


# -- calls made up from a schema

_SHAPES: Final = ((2, 3), (3, 3), (4,), (2, 3, 4), (1, 2, 4, 4), (1, 2, 4, 4, 4), ())

_NUMBERS: Final = {
    "dim": 1, "axis": 1, "n": 2, "k": 2, "p": 2, "groups": 1, "chunks": 2, "sections": 2, "size": 2, "eps": 1e-5,
    "momentum": 0.1, "bins": 4, "steps": 5, "end": 5, "high": 10, "quant_max": 127, "quant_min": -128, "num_samples": 2,
    "split_size": 2, "length": 2, "n_fft": 4, "num_layers": 1, "dropout": 0.0, "window_length": 8, "fill_value": 1,
    "dim0": 0, "axis0": 0, "source": 0, "start": 0, "low": 0, "index": 0, "level": 0, "min": 0, "row": 3, "col": 3,
    "start_dim": 0, "from_": 0, "N": 3, "step": 1,
}  # fmt: skip
_TEXTS: Final = {
    "reduce": "sum", "rounding_mode": "floor", "padding": "same", "ord": "fro", "indexing": "ij", "p": "fro",
    "side": "left", "mode": "constant",
}  # fmt: skip
_LISTS: Final = {
    "dims": (0,),
    "dim": (1,),
    "size": (2, 3),
    "stride": (3, 1),
    "shape": (3, 2),
    "repeats": (2, 2),
}
_INDICES: Final = {"index", "indices", "offsets", "repeats", "indices_or_sections", "n", "lengths"}
_MASKS: Final = {"mask", "condition"}


def invented_calls(name: str) -> Iterator[RecordedCall]:
    """Calls of an operator with made-up arguments where the schema has no default, as torch takes them."""
    import torch

    packet, _, overload = name.partition(".")
    target: Any = getattr(getattr(torch.ops.aten, packet), overload or "default")
    schema = OP_BY_NAME[name].schema()
    needed = [arg for arg in schema.args if _is_needed(arg)]
    for dtype, shape in product((torch.float32, torch.int64, torch.bool, torch.complex64), _SHAPES):
        _seed()
        values = {arg.name: _invent(arg, shape, dtype) for arg in needed}
        args = [values[arg.name] for arg in needed if not arg.kwarg_only]
        # An argument after one that is left out goes by name.
        leading = [arg for arg in schema.args if not arg.kwarg_only][: len(args)]
        if leading != [arg for arg in needed if not arg.kwarg_only]:
            call = _run(target, (), values)
        else:
            call = _run(target, args, {arg.name: values[arg.name] for arg in needed if arg.kwarg_only})
        if call is not None:
            yield call


def _is_needed(arg: Arg) -> bool:
    return not isinstance(arg.default, int | float | str | tuple) and arg.default is not None


def _invent(arg: Arg, shape: tuple[int, ...], dtype: Any) -> Any:
    import torch

    if arg.type.is_tensor:
        if arg.name in _INDICES:
            tensor = torch.zeros(shape, dtype=torch.int64)
        elif arg.name in _MASKS:
            tensor = torch.ones(shape, dtype=torch.bool)
        elif dtype in (torch.int64, torch.bool):
            tensor = torch.ones(shape, dtype=dtype)
        else:
            tensor = torch.rand(shape, dtype=dtype)
        return [tensor, tensor] if arg.type.is_list else tensor
    if arg.type.optional:
        return None
    if arg.type.is_list:
        if arg.name in _LISTS:
            return list(_LISTS[arg.name])
        return [1] * (arg.type.list_size or 2)
    match arg.type.base:
        case "bool":
            return False
        case "float":
            return float(_NUMBERS.get(arg.name, 0.5))
        case "str":
            return _TEXTS.get(arg.name, "sum")
        case "ScalarType":
            return torch.float64
        case "Device":
            return torch.device("cpu")
        case "Layout":
            return torch.strided
        case "MemoryFormat":
            return torch.contiguous_format
        case _:
            return _NUMBERS.get(arg.name, 2 if arg.type.base == "Scalar" else 1)


UNSAFE: Final = re.compile(r"_cufft_|_nested_|nested_")
"""Operators that made-up arguments could crash, and that have no other."""


def table() -> str:
    """The text of `examples.txt`. Raises `ValueError` if a call of `example_calls` makes no example."""
    best = DIM_ORDER | INTEGER | RUNTIME_EXAMPLES
    for call in written_calls():
        text = text_of(call)
        if text is None:
            raise ValueError(f"the dialects do not take {call}")
        best[call.name] = text
    rest = OP_BY_NAME.keys() - best.keys()
    found: defaultdict[str, list[str]] = defaultdict(list)
    invented = (invented_calls(name) for name in sorted(rest) if not UNSAFE.match(name))
    for call in chain(sampled_calls(), *invented):
        text = text_of(_plain(call)) if call.name in rest else None
        if text is not None:
            found[call.name].append(text)
    best |= {name: min(texts, key=_cost) for name, texts in found.items()}
    return "".join(f"{name}\t{best[name]}\n" for name in sorted(best))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    # What torch has to say of calls that it does not take is no news.
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        text = table()
    if not options.check:
        EXAMPLES.write_text(text, encoding="utf-8")
        return 0
    if EXAMPLES.read_text(encoding="utf-8") == text:
        return 0
    print(f"{EXAMPLES.name} is not current: python -m dev.examples", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
