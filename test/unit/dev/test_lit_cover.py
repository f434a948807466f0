"""Lit tests for processes of their own: what their lines use, and a set of them that uses everything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "lit"))

import cover

from et_ir.passes import pass_places

LIT = Path(__file__).parents[2] / "lit"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// RUN: et-opt %s | filecheck %s", {("et-opt",)}),
        (
            "// RUN: et-opt -p 'dce,plan-memory{algorithm=naive effort=2},cse' %s",
            {
                ("et-opt",),
                ("et-opt", "dce"),
                ("et-opt", "dce", "first"),
                ("et-opt", "plan-memory"),
                ("et-opt", "cse"),
            },
        ),
        (
            "# RUN: not et-vm run %t.pte --input=ones \\\n# RUN:   2>&1 && et-compile m:f -o %t",
            {("et-vm",), ("et-vm", "run"), ("et-vm", "--input"), ("et-compile",)},
        ),
        ("// RUN: et-opt --passes=cse %s", {("et-opt",), ("et-opt", "cse"), ("et-opt", "cse", "first")}),
        ("// et-opt -p cse", set()),
    ],
)
def test_features(text: str, expected: set[tuple[str, ...]]) -> None:
    assert cover.features(text) == expected


def test_cover() -> None:
    files = {"a": {("x",), ("y",)}, "b": {("x",)}, "c": {("y",), ("z",)}, "d": {("x",), ("y",), ("z",)}}
    assert cover.cover(files, {"a": 1, "b": 1, "c": 1, "d": 4}) == ["a", "c"]
    assert cover.cover(files, dict.fromkeys(files, 1)) == ["d"]


def test_every_pass_runs_in_a_process_of_its_own() -> None:
    texts = [path.read_text(encoding="utf-8") for path in LIT.rglob("*") if path.suffix in {".mlir", ".test"}]
    found = set().union(*map(cover.features, texts))
    assert sorted(name for name in pass_places() if ("et-opt", name) not in found) == []
