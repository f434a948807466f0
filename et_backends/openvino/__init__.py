"""OpenVINO: models for Intel's processors."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="OpenvinoBackend",
    compiler="et_backends.openvino.compiler.partitioner:BACKEND",
    runtime="et_backends.openvino.runtime:OpenvinoBackend",
)
