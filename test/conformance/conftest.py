"""The models every conformance test runs, compiled by both toolchains, and the stock runtime.

Our files are compiled anew in every session, as they are what is tested; the stock compiler's are kept in
pytest's cache until the model or the stock toolchain changes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from example_models import FACTORIES, Model, build
from stock import StockRuntime


@pytest.fixture(scope="session", params=FACTORIES)
def model(request: pytest.FixtureRequest) -> Model:
    """Each example model in turn."""
    return build(request.param)


@pytest.fixture(scope="session")
def our_file(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model compiled by `et_ir`."""
    from et_ir import to_edge

    path = tmp_path_factory.mktemp(model.name) / "ours.pte"
    to_edge(model.program).to_executorch().save(path)
    return path


@pytest.fixture(scope="session")
def stock_file(model: Model, pytestconfig: pytest.Config) -> Path:
    """The model compiled by the stock compiler."""
    return model.stock_file(pytestconfig.cache.mkdir("stock"))


@pytest.fixture(scope="session")
def stock_xnnpack_file(model: Model, pytestconfig: pytest.Config) -> Path:
    """The model lowered by the stock partitioner for XNNPACK and compiled by the stock compiler."""
    return model.stock_xnnpack_file(pytestconfig.cache.mkdir("stock"))


@pytest.fixture(scope="session")
def stock() -> Iterator[StockRuntime]:
    """The stock runtime."""
    with StockRuntime() as runtime:
        yield runtime


@pytest.fixture(scope="module")
def quantized_stock() -> Iterator[StockRuntime]:
    """The stock runtime with its library of quantized kernels."""
    with StockRuntime(quantized=True) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs one of our installed commands; returns its standard output, fails with its standard error."""

    def run(name: str, *arguments: str | Path) -> str:
        line = [str(Path(sys.executable).with_name(name)), *map(str, arguments)]
        done = subprocess.run(line, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(line)}: exit code {done.returncode}\n{done.stderr}"
        return done.stdout

    return run
