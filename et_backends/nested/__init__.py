"""Programs within programs."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="NestedProgramBackend",
    compiler="et_backends.nested.compiler:BACKEND",
    runtime="et_backends.nested.runtime:NestedProgramBackend",
    validate="et_backends.nested.validation:errors",
    decoder="et_tools.info.nested_lines:nested_lines",
    constants="et_tools.info.nested_constants:nested_constants",
)
