"""Texts of programs of any size: shapes that have made a pass quadratic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

__all__ = ["SHAPES"]

_TYPE: Final = "tensor<4x8xf32>"


def _method(body: list[str], result: str, type: str = _TYPE, symbols: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"{symbols}func.func @forward(%x: {type}) -> {type} {{\n{lines}\n    func.return {result} : {type}\n}}\n"


def _chain(size: int) -> str:
    names = ["%x", *(f"%{number}" for number in range(size))]
    operators = ("relu", "sin", "tanh", "neg")
    body = [
        f"{after} = aten.{operators[number % 4]} {before} : {_TYPE}"
        for number, (before, after) in enumerate(pairwise(names))
    ]
    return _method(body, names[-1])


def _parameters(size: int) -> str:
    value = ", ".join(["2.0"] * 32)
    symbols = [
        f"program.parameter @p{number} : {_TYPE} = #program.data<f32, [{value}]>" for number in range(size)
    ]
    body = ["%0 = aten.relu %x : " + _TYPE]
    for number in range(size):
        body.append(f"%p{number} = program.get @p{number} : {_TYPE}")
        body.append(f"%{number + 1} = aten.mul.Tensor %{number}, %p{number} : {_TYPE}")
    return _method(body, f"%{size}", symbols="\n".join(symbols) + "\n")


def _residual(size: int) -> str:
    body = ["%0 = aten.relu %x : " + _TYPE]
    for number in range(size // 2):
        body.append(f"%r{number} = aten.sin %{number} : {_TYPE}")
        body.append(f"%{number + 1} = aten.add.Tensor %{number}, %r{number} : {_TYPE}")
    return _method(body, f"%{size // 2}")


def _wide_sum(size: int) -> str:
    half = size // 2
    body = [f"%r{number} = aten.mul.Scalar %x {{other = {number + 2}.0}} : {_TYPE}" for number in range(half)]
    body.append(f"%0 = aten.add.Tensor %r0, %r1 : {_TYPE}")
    body += [
        f"%{number - 1} = aten.add.Tensor %{number - 2}, %r{number} : {_TYPE}" for number in range(2, half)
    ]
    return _method(body, f"%{half - 2}")


def _split(size: int, pieces: Callable[[int], str], body: list[str]) -> str:
    whole, part = f"tensor<4x{size}xf32>", "tensor<4x1xf32>"
    parts = ", ".join([part] * size)
    results = ", ".join(f"%s{number}" for number in range(size))
    operands = ", ".join(pieces(size - 1 - number) for number in range(size))
    return _method(
        [
            f"{results} = aten.split.Tensor %x {{split_size = 1, dim = 1}} : ({whole}) -> ({parts})",
            *body,
            f"%c = aten.cat [{operands}] {{dim = 1}} : ({parts}) -> {whole}",
        ],
        "%c",
        whole,
    )


def _split_and_cat(size: int) -> str:
    body = [f"%r{number} = aten.relu %s{number} : tensor<4x1xf32>" for number in range(size)]
    return _split(size, "%r{}".format, body)


def _reversed_parts(size: int) -> str:
    return _split(size, "%s{}".format, [])


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
    "chain": _chain,
    "parameters": _parameters,
    "residual": _residual,
    "wide sum": _wide_sum,
    "split and cat": _split_and_cat,
    "reversed parts": _reversed_parts,
}
"""By name, the text at the ATen level of about as many ops as are asked for."""
