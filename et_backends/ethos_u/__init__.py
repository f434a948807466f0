"""Ethos-U: command streams for Arm's neural processors, by way of TOSA and Vela."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="EthosUBackend",
    compiler="et_backends.ethos_u.compiler.partitioner:BACKEND",
    read="et_backends.ethos_u.format:read_vela",
    decoder="et_backends.ethos_u.lines:ethos_u_lines",
    constants="et_backends.ethos_u.constants:constants",
    texts={"tosa": "et_backends.tosa.compiler.texts:tosa_texts"},
    writes="et_backends.ethos_u.format:ethos_u_writes",
)
