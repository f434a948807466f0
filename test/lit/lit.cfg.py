"""Configuration of the lit tests: text in, passes, text out, checked by FileCheck.

Run one with `lit -v test/lit/passes/common/cse.mlir`; `--param warm` makes many fast, see `warm.py`;
`--param cover` runs few that use everything, see `cover.py`.
"""

import os
import sys
from pathlib import Path

import lit.formats

from et_ir.targets.lookup import DEFAULT

config.name = "executorch-ir"  # noqa: F821  (lit provides `config`)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
# The commands of the environment that runs lit, whether or not it is activated.
folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
sys.path.append(config.test_source_root)  # noqa: F821
if "cover" in lit_config.params:  # noqa: F821
    import cover

    config.test_format = cover.Cover(config.test_source_root, config.suffixes, config.excludes)  # noqa: F821
if "warm" in lit_config.params:  # noqa: F821
    import warm

    folders.insert(0, warm.start())
config.environment["PATH"] = os.pathsep.join(folders)  # noqa: F821
for name in ("HOME", "OMP_NUM_THREADS", "NO_COLOR", "PYTHONPATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821
# The stock runtime that is the default target, where a command must name it.
config.substitutions.append(("%stock", DEFAULT))  # noqa: F821
