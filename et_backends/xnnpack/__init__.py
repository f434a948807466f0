"""XNNPACK: graphs for its kernels."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="XnnpackBackend",
    compiler="et_ir.backends.xnnpack.partitioner:BACKEND",
    runtime="et_vm.backends.xnnpack.backend:XnnpackBackend",
    decoder="et_tools.info.xnnpack_lines:xnnpack_lines",
    writes="et_schema.xnnpack:xnnpack_writes",
    graph="et_ir.passes.raising.xnnpack_result_types:delegate_graph",
    raising=("open-xnnpack", "raise-xnnpack"),
    dialects={
        "xnnpack": "et_ir.dialects.xnnpack:Xnnpack",
    },
    passes={
        "close-xnnpack": "et_ir.passes.backend.close_xnnpack:CloseXnnpackPass",
        "open-xnnpack": "et_ir.passes.backend.open_xnnpack:OpenXnnpackPass",
        "raise-xnnpack": "et_ir.passes.raising.raise_xnnpack:RaiseXnnpackPass",
    },
)
