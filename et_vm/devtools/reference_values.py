"""Reference values of recorded programs, computed op by op in torch."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
import torch

from et_ops.torch_operators import check_operands, overload_called, record_of
from et_schema.errors import Error, ExecutorchError
from et_schema.etrecord import RecordedNode, RecordedProgram, Tensors
from et_schema.wording import in_words

__all__ = ["as_tensor", "load_tensors", "node_values", "plain_tensor"]

_EDGE: Final = "executorch.exir.dialects.edge.ops."
_DTYPES: Final[tuple[str, ...]] = (
    "", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
    "complex128", "bool", "bfloat16", "uint16", "float8_e5m2", "float8_e4m3fn",
)  # fmt: skip
"""Element types by their numbers in the JSON."""
_ARITHMETIC: Final = frozenset({
    "add", "and_", "eq", "floordiv", "ge", "getitem", "gt", "le", "lshift", "lt", "mod", "mul", "ne", "neg", "not_",
    "or_", "pos", "pow", "rshift", "sub", "truediv", "xor",
})  # fmt: skip
"""Functions of the module `operator` that graphs call."""
_FORMATS: Final[tuple[str, ...]] = (
    "",
    "contiguous_format",
    "channels_last",
    "channels_last_3d",
    "preserve_format",
)
_LAYOUTS: Final[tuple[str, ...]] = (
    "", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "strided",
)  # fmt: skip


def load_tensors(data: Tensors | None) -> Any:
    """Data written by `torch.save`: tensors, lists and dicts of tensors; None for empty data.

    Raises `ExecutorchError(InvalidExternalData)` for data that torch does not read.
    """
    if not data:
        return None
    if callable(data):
        stream = io.BytesIO()
        data(stream)
        data = stream.getvalue()
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ExecutorchError(
            Error.InvalidExternalData, f"tensors of the ETRecord cannot be read: {reason}"
        ) from error


def as_tensor(value: Any) -> Any:
    """A tensor of the numbers of an array, a tensor or a number, in double precision; NaN are 0, infinities the largest
    numbers if there are NaN, as in ExecuTorch's comparison.
    """
    tensor = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
    return torch.nan_to_num(tensor) if torch.isnan(tensor).any() else tensor


def plain_tensor(value: Any) -> Any:
    """An array as a separate tensor; other values unchanged."""
    return torch.tensor(value) if isinstance(value, np.ndarray) else value


def node_values(program: RecordedProgram, inputs: Sequence[Any]) -> Iterator[tuple[RecordedNode, Any]]:
    """The nodes of a graph in order, with their values for flat inputs: tensors, lists of tensors, and numbers.

    Raises `ExecutorchError`: NotSupported for what torch does not compute, InvalidArgument for
    inputs that do not fit, InvalidExternalData for tensors that are not in the record and for a damaged graph.
    """
    try:
        values = _bound(program, inputs)
        with torch.no_grad():
            yield from _evaluated(program.nodes(), values)
    except (LookupError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise ExecutorchError(
            Error.InvalidExternalData, f"the reference graph is damaged: {type(error).__name__}: {error}"
        ) from error


def _bound(program: RecordedProgram, inputs: Sequence[Any]) -> dict[str, Any]:
    """The values of a graph's placeholders by name."""
    state: dict[str, Any] = load_tensors(program.state_dict) or {}
    constants: dict[str, Any] = load_tensors(program.constants) or {}
    values: dict[str, Any] = {}
    given = list(inputs)
    specs: Sequence[Mapping[str, Any]] = program.document["graph_module"]["signature"]["input_specs"]
    wanted = sum("user_input" in spec or "constant_input" in spec for spec in specs)
    if len(given) != wanted:
        raise ExecutorchError(
            Error.InvalidArgument,
            f"the reference graph takes {in_words(wanted, 'input')}, the ETRecord has {len(given)}",
        )
    for spec in specs:
        (kind, said), *_ = spec.items()
        if kind == "user_input":
            ((_, name),) = said["arg"].items()
            values[name.get("name") or name["as_name"]] = _fitting(program, name, given.pop(0))
        elif kind == "constant_input":
            values[said["name"]] = given.pop(0)
        elif kind in ("parameter", "buffer", "tensor_constant"):
            target = said[f"{kind}_name"]
            # Buffers that are not persistent are among the constants.
            found = state.get(target, constants.get(target))
            if found is None:
                raise ExecutorchError(Error.InvalidExternalData, f"the ETRecord lacks the tensor {target}")
            values[said["arg"]["name"]] = found
        else:
            raise ExecutorchError(Error.NotSupported, f"the reference graph has an input of kind {kind}")
    return values


def _fitting(program: RecordedProgram, name: Mapping[str, Any], value: Any) -> Any:
    """An input, if it is of the type that the graph says."""
    meta = program.graph["tensor_values"].get(name.get("name", ""))
    if meta is None or not isinstance(value, torch.Tensor):
        return value
    sizes = [size.get("as_int") for size in meta["sizes"]]
    fits = len(sizes) == value.dim() and all(
        said in (None, size) for said, size in zip(sizes, value.shape, strict=True)
    )
    dtype = getattr(torch, _DTYPES[int(meta["dtype"])])
    if not fits or dtype != value.dtype:
        wanted = (
            f"{_DTYPES[meta['dtype']]} [{', '.join('?' if size is None else str(size) for size in sizes)}]"
        )
        found = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
        raise ExecutorchError(
            Error.InvalidArgument,
            f"the input {name.get('name')} is {found}, the reference graph takes {wanted}",
        )
    return value


def _evaluated(nodes: Iterator[RecordedNode], values: dict[str, Any]) -> Iterator[tuple[RecordedNode, Any]]:
    for node in nodes:
        function = _function(node.target)
        arguments = [(one["name"], _argument(one["arg"], values)) for one in node.raw["inputs"]]
        try:
            found = _called(function, arguments)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ExecutorchError(
                Error.NotSupported, f"torch cannot compute {node.target}: {reason}", where=node.name
            ) from error
        _define(node.raw["outputs"], found, values)
        yield node, found


def _called(function: Any, arguments: Sequence[tuple[str, Any]]) -> Any:
    schema = getattr(function, "_schema", None)
    if schema is None:
        return function(
            *(value for name, value in arguments if not name), **{n: value for n, value in arguments if n}
        )
    # Names such as `self` cannot be keywords.
    named = dict(arguments)
    positional: list[Any] = []
    for one in schema.arguments:
        if one.kwarg_only:
            break
        if one.name not in named and not one.has_default_value():
            raise TypeError(f"it lacks the argument {one.name}")
        positional.append(named.pop(one.name) if one.name in named else one.default_value)
    record = record_of(function.name())
    if record is not None:
        keywords = (one for one in schema.arguments if one.kwarg_only)
        given = [*positional, *(named.get(one.name, one.default_value) for one in keywords)]
        check_operands(torch, record, given)
    return function(*positional, **named)


def _define(outputs: Sequence[Mapping[str, Any]], found: Any, values: dict[str, Any]) -> None:
    """Give the results the names that other nodes have for them."""
    several = outputs[0]["as_tensors"] if outputs and "as_tensors" in outputs[0] else None
    if several is not None:
        names = [one["name"] for one in several]
    else:
        names = [cast("Mapping[str, str]", next(iter(one.values()))) for one in outputs]
        names = [one.get("name") or one["as_name"] for one in names]
    results = list(found) if several is not None or len(names) > 1 else [found]
    values.update(zip(names, results, strict=False))


def _function(target: str) -> Callable[..., Any]:
    """The function that a graph calls: of targets, which anyone may have written, only operators are looked up."""
    module, _, name = target.rpartition(".")
    found: Any = None
    if target.startswith(_EDGE + "dim_order_ops."):
        found = _DIM_ORDER.get(target.split(".")[-2])
    elif target.startswith("torch.ops.higher_order.cond"):
        found = _cond
    elif module == "_operator":
        found = getattr(operator, name) if name in _ARITHMETIC else None
    elif module == "torch":
        found = getattr(torch, name, None) if name.startswith(("sym_", "_sym_")) else None
    else:
        path = target.removeprefix(_EDGE if target.startswith(_EDGE) else "torch.ops.").split(".")
        if len(path) == 3:
            namespace, packet, overload = path
            found = overload_called(
                torch, f"{namespace}::{packet}" + f".{overload}" * (overload != "default")
            )
    if found is None:
        raise ExecutorchError(
            Error.NotSupported,
            f"the reference graph calls {target}, which is not an operator that torch has",
            hint="import the package that registers it",
        )
    return cast("Callable[..., Any]", found)


def _argument(argument: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    kind, value = next(iter(argument.items()))
    match kind:
        case "as_none":
            return None
        case "as_tensor":
            return values[value["name"]]
        case "as_tensors":
            return [values[one["name"]] for one in value]
        case "as_optional_tensors":
            return [values[one["as_tensor"]["name"]] if "as_tensor" in one else None for one in value]
        case "as_sym_int" | "as_sym_bool":
            return _symbolic(value, values)
        case "as_sym_ints" | "as_sym_bools":
            return [_symbolic(one, values) for one in value]
        case "as_scalar_type":
            return getattr(torch, _DTYPES[int(value)])
        case "as_memory_format":
            return getattr(torch, _FORMATS[int(value)])
        case "as_layout":
            return getattr(torch, _LAYOUTS[int(value)])
        case "as_device":
            return torch.device("cpu")
        case "as_graph":
            return _subgraph(value["graph"])
        case (
            "as_int"
            | "as_ints"
            | "as_float"
            | "as_floats"
            | "as_bool"
            | "as_bools"
            | "as_string"
            | "as_strings"
        ):
            return value
        case _:
            raise ExecutorchError(Error.NotSupported, f"the reference graph has an argument of kind {kind}")


def _symbolic(value: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    return values[value["as_name"]] if "as_name" in value else next(iter(value.values()))


def _subgraph(graph: Mapping[str, Any]) -> Callable[..., Any]:
    """A function that evaluates the graph of a branch."""
    program = RecordedProgram({"graph_module": {"graph": graph}})

    def run(*operands: Any) -> Any:
        names = [next(iter(one.values())) for one in graph["inputs"]]
        values = {
            one.get("name") or one["as_name"]: value for one, value in zip(names, operands, strict=True)
        }
        for _ in _evaluated(program.nodes(), values):
            pass
        outputs = [_argument(one, values) for one in graph["outputs"]]
        return outputs[0] if graph["is_single_tensor_return"] else outputs

    return run


def _cond(
    condition: Any, then: Callable[..., Any], other: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    return (then if bool(condition) else other)(*operands)


def _clone(self: Any, **_: Any) -> Any:
    return self.clone()


def _convert(self: Any, *, dtype: Any = None, **_: Any) -> Any:
    return self.clone() if dtype is None else self.to(dtype)


def _empty(size: Sequence[int], *, dtype: Any = None, **_: Any) -> Any:
    return torch.zeros(tuple(size), dtype=dtype)


_DIM_ORDER: Final[Mapping[str, Callable[..., Any]]] = {
    "_clone_dim_order": _clone,
    "_to_dim_order_copy": _convert,
    "_empty_dim_order": _empty,
}
"""Operators that torch does not have. A layout changes no value."""
