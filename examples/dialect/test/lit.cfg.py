"""Configuration of lit: tests are the .mlir files beside it, and run the commands of lit's own environment."""

import os
import sys
from pathlib import Path

import lit.formats

config.name = "fma"  # noqa: F821  (lit provides `config`)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # noqa: F821
config.substitutions.append(("%dialect", str(Path(__file__).parents[1] / "fma.py")))  # noqa: F821
