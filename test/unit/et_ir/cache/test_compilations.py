"""Compilations with a cache: the bytes of those without, and what is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp

from et_backends.codegen import pipeline
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.analysis.choices import ExplainingContext, explained
from et_ir.backends import BackendDetails, CompileSpec, PreprocessResult, make_partitioner
from et_ir.cache.store import Store, caching
from et_ir.delegation.cached_results import cached_results
from et_ir.emit import origins_json
from et_ir.rewrite_limit import RewriteLimit, limited

BACKENDS = ("native", "xnnpack", "openvino")


def _compiled(backend: str, store: Store | None, *, width: int = 8, weight: float = 1.0) -> bytes:
    """A program of two methods, one of them with a layer of a width and weights that vary."""
    torch.manual_seed(0)
    methods = {"first": nn.Sequential(nn.Linear(4, 6), nn.ReLU()), "second": nn.Linear(4, width)}
    with torch.no_grad():
        methods["second"].weight.mul_(weight)
    programs = {
        name: torch.export.export(module.eval(), (torch.ones(2, 4),)) for name, module in methods.items()
    }
    with caching(store):
        edge = to_edge_transform_and_lower(programs, partitioner=[make_partitioner(backend)])
        return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def _outcomes(store: Store, kind: str = "partition") -> Counter[str]:
    """Numbers of results that were found, and that were not."""
    return Counter("hit" if one.outcome == "hit" else "miss" for one in store.lookups if one.kind == kind)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cold_warm_and_changed(tmp_path: Path, backend: str):
    if backend == "openvino":
        pytest.importorskip("openvino")
    for change, misses in (({}, 2), ({}, 0), ({"width": 9}, 1), ({"width": 9, "weight": 2.0}, 1), ({}, 0)):
        store = Store(tmp_path)
        found = _compiled(backend, store, **change)
        assert found == _compiled(backend, None, **change), change
        assert _outcomes(store) == Counter(hit=2 - misses, miss=misses), change


def test_report_of_choices_is_no_hit(tmp_path: Path):
    """Who asks for choices is told those of a compilation, which does not count as one that was spared."""
    expected = _compiled("native", Store(tmp_path))
    store = Store(tmp_path)
    with explained(ExplainingContext()):
        assert _compiled("native", store) == expected
    partitions = [one.outcome for one in store.lookups if one.kind == "partition"]
    assert partitions == ["computed for its report, and kept"] * 2
    assert store.statistics().hits.get("partition", 0) == 0


class Refusing(BackendDetails):
    """Its results are not to be kept."""

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(b"made")

    @classmethod
    def further_dependences(cls, compile_specs: Sequence[CompileSpec]) -> str | None:
        return None


def test_results_that_are_not_kept(tmp_path: Path):
    class Inner(Refusing):
        pass

    def outcome(details: type[BackendDetails]) -> str:
        store = Store(tmp_path)
        made = {"forward": [PreprocessResult(b"made")]}
        with caching(store):
            programs = {"forward": [ModuleOp([])]}
            assert cached_results(details, programs, {"forward": [[]]}, lambda: made) is made
        (lookup,) = store.lookups
        return lookup.outcome

    assert outcome(Refusing) == "not kept: the backend refuses for these settings"
    assert outcome(Inner) == "not kept: the backend is a class within a function"
    with limited(RewriteLimit(1)):
        assert outcome(Refusing) == "not kept: rewrites are limited"
    assert not any(tmp_path.iterdir())


SOURCE = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x + x) * 2
"""


@pytest.mark.parametrize("backend", ["native", "xnnpack"])
def test_lines_that_move(tmp_path: Path, backend: str):
    """What is kept holds, and the program names the lines that there are now."""

    def compiled(lines: int, store: Store | None) -> tuple[bytes, str]:
        scope: dict[str, Any] = {"__name__": "net"}
        exec(compile("\n" * lines + SOURCE, "net.py", "exec"), scope)
        program = torch.export.export(scope["Net"]().eval(), (torch.ones(3),))
        with caching(store):
            edge = to_edge_transform_and_lower(program, partitioner=[make_partitioner(backend)])
            made = edge.to_executorch(ExecutorchBackendConfig(target="et-vm", emit_stacktrace=True))
        return made.buffer, json.dumps(origins_json(made.module))

    compiled(0, Store(tmp_path))
    store = Store(tmp_path)
    moved = compiled(5, store)
    assert moved == compiled(5, None)
    assert '"file": "net.py", "line": 12' in moved[1]
    assert _outcomes(store) == Counter(hit=1)


def test_machine_code_of_other_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pipeline, "_OBJECTS", OrderedDict())
    cold = Store(tmp_path)
    _compiled("native", cold)
    monkeypatch.setattr(pipeline, "_OBJECTS", OrderedDict())
    other = Store(tmp_path)
    found = _compiled("native", other, weight=2.0)
    assert _outcomes(cold, "code")["miss"] == 2 * _outcomes(other, "code")["hit"] > 0
    assert _outcomes(other, "code")["miss"] == 0
    monkeypatch.setattr(pipeline, "_OBJECTS", OrderedDict())
    assert found == _compiled("native", None, weight=2.0)


def test_damaged_entries_are_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    expected = _compiled("xnnpack", Store(tmp_path))
    for path in tmp_path.glob("*/??/*"):
        path.write_bytes(path.read_bytes()[:-1])
    store = Store(tmp_path)
    assert _compiled("xnnpack", store) == expected
    assert _outcomes(store) == Counter(miss=2)
    assert caplog.text.count("its content does not match its hash") == 2
    store = Store(tmp_path)
    assert _compiled("xnnpack", store) == expected
    assert _outcomes(store) == Counter(hit=2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bytes_of_other_processes(tmp_path: Path, backend: str):
    """A process with another hash seed and locale makes the same bytes, and finds what the other has kept."""
    if backend == "openvino":
        pytest.importorskip("openvino")
    printed: list[list[str]] = []
    for seed, locale, folder in (("1", "C", "a"), ("2", "C.utf8", "b"), ("3", "POSIX", "a")):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, backend, str(tmp_path / folder)],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "LC_ALL": locale,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            check=True,
            capture_output=True,
            text=True,
        )
        printed.append(done.stdout.split())
    (one, *misses), (two, *_), (three, *hits) = printed
    assert one == two == three
    assert (misses, hits) == (["0", "2"], ["2", "0"])


if __name__ == "__main__":
    _store = Store(sys.argv[2])
    _bytes = _compiled(sys.argv[1], _store)
    print(sha256(_bytes).hexdigest(), _outcomes(_store)["hit"], _outcomes(_store)["miss"])
