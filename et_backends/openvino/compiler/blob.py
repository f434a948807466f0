"""From a partition to a blob: what OpenVINO exports of a compiled model, and its runtimes import."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.openvino.compiler import export_model
from et_backends.openvino.compiler.rules import RULES
from et_backends.openvino.compiler.translation import Translation
from et_ir.analysis.time_cache import processor_digest
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.driver.stages import run_pipeline

__all__ = ["DEVICE_SPEC", "PRECISION_SPEC", "OpenvinoBackend", "require_openvino"]

DEVICE_SPEC: Final = "device"
"""The compile spec with the device that runs the model, a name of OpenVINO's, which the runtime reads."""

PRECISION_SPEC: Final = "precision"
"""The compile spec with the precision of float arithmetic: `f32`, or `fast` for what the device likes best."""

_LAYER: Final = re.compile(r'<layer id="\d+" name="[^"]*" type="(?!Const|Parameter|Result)[^"]*"[^>]*(?<!/)>')
_PRECISE: Final = '<rt_info><attribute name="precise" version="0" /></rt_info>'


def require_openvino() -> None:
    """Raises ModuleNotFoundError, which says what to install, where OpenVINO is not installed."""
    try:
        import_module("openvino")
    except ModuleNotFoundError as error:
        message = "the package openvino is not installed, which compiles the models; install it with: "
        raise ModuleNotFoundError(
            f"{message}pip install '.[openvino]' in the checkout of executorch-ir", name="openvino"
        ) from error


class OpenvinoBackend(BackendDetails):
    """Makes models of partitions. Its own identifiers are the names of nodes."""

    distributions = ("openvino",)

    @classmethod
    def further_dependences(cls, compile_specs: Sequence[CompileSpec]) -> str | None:
        return processor_digest()  # OpenVINO compiles for the device that it finds

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        run_pipeline(edge_program, "canonicalize,dce")
        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        precise = settings.get(PRECISION_SPEC, "f32") == "f32"
        translation = Translation(edge_program, method, precise=precise)
        model = translation.model("partition", {name: rule.lower for name, rule in RULES.items()})
        mapping = DelegateMappingBuilder()
        for op, nodes in translation.made:
            mapping.insert_delegate_mapping_entry(op, _node_of(nodes[0]).get_friendly_name())
        blob = _exported(model, settings.get(DEVICE_SPEC, "CPU"), precise)
        return PreprocessResult(blob, mapping.get_delegate_mapping())


def _node_of(made: Any) -> Any:
    """The node that an output is of."""
    return made.get_node() if hasattr(made, "get_node") else made


def _exported(model: Any, device: str, precise: bool) -> bytes:
    """The blob of a model, of which `precise` marks each node as one whose floats keep their precision.

    On CPUs with instructions for bfloat16 OpenVINO computes in it, unless it is told otherwise when a model is
    imported, which ExecuTorch's runtime does not do. The mark stays with the model. Its class has no Python
    binding, so that it is written into the text of the model.
    """
    openvino: Any = import_module("openvino")
    with TemporaryDirectory() as folder:
        text, blob = Path(folder) / "model.xml", Path(folder) / "blob"
        openvino.serialize(model, text)
        if precise:
            marked = _LAYER.sub(lambda match: match[0] + _PRECISE, text.read_text("utf-8"))
            text.write_text(marked, "utf-8")
        export_apart(text, device, blob)
        return blob.read_bytes()


def export_apart(model: Path, device: str, blob: Path) -> None:
    """Write the blob of the model in a file, in a process of its own. Raises ValueError where it cannot be compiled."""
    done = subprocess.run(
        [sys.executable, "-IS", export_model.__file__, model, device, blob, export_model.library()],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise ValueError(f"OpenVINO cannot compile the model for {device}: {reason[-1] if reason else ''}")
