"""Configuration of the lit tests: text in, passes, text out, checked by FileCheck.

Run one with `lit -v test/lit/passes/common/cse.mlir`; `--param warm` makes many fast, see `warm.py`;
`--param cover` runs few that use everything, see `cover.py`;
`--param seconds=S` a share after a change, see `share.py`.
"""

import os
import sys
from pathlib import Path

from et_ir.targets.lookup import DEFAULT

sys.path.append(str(Path(__file__).parent))
import runs

folder = runs.start()
config.name = "executorch-ir"  # noqa: F821  (lit provides `config`)
config.test_format = runs.Format(folder)  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = folder  # noqa: F821
# The commands of the environment that runs lit, whether or not it is activated.
folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
sys.path.append(config.test_source_root)  # noqa: F821
if "cover" in lit_config.params:  # noqa: F821
    import cover
    import warm

    folders.insert(0, warm.start(warm.TOOLS))
    config.test_format = cover.Cover(config.test_source_root, config.suffixes, config.excludes)  # noqa: F821
if "seconds" in lit_config.params:  # noqa: F821
    import share

    paths = [
        path
        for path in Path(config.test_source_root).rglob("*")  # noqa: F821
        if path.suffix in config.suffixes and not set(path.parts) & set(config.excludes)  # noqa: F821
    ]
    config.test_format = share.Share(folder, paths, lit_config.params)  # noqa: F821
if "warm" in lit_config.params:  # noqa: F821
    import warm

    folders.insert(0, warm.start())
config.environment["PATH"] = os.pathsep.join(folders)  # noqa: F821
config.environment.update(HOME=folder, LC_ALL="C.UTF-8", OMP_NUM_THREADS="1")  # noqa: F821
if "PYTHONPATH" in os.environ:
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]  # noqa: F821
# The stock runtime that is the default target, where a command must name it.
config.substitutions.append(("%stock", DEFAULT))  # noqa: F821
