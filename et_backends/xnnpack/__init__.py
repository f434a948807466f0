"""XNNPACK: graphs for its kernels."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="XnnpackBackend",
    compiler="et_backends.xnnpack.compiler.partitioner:BACKEND",
    runtime="et_backends.xnnpack.runtime.backend:XnnpackBackend",
    read="et_backends.xnnpack.format.blob:read_xnnpack",
    decoder="et_backends.xnnpack.lines:xnnpack_lines",
    constants="et_backends.xnnpack.constants:constants",
    writes="et_backends.xnnpack.format.blob:xnnpack_writes",
    graph="et_backends.xnnpack.raising.result_types:delegate_graph",
    raising=("open-xnnpack", "raise-xnnpack"),
    dialects={
        "xnnpack": "et_backends.xnnpack.dialect:Xnnpack",
    },
    passes={
        "close-xnnpack": "et_backends.xnnpack.passes.close_xnnpack:CloseXnnpackPass",
        "open-xnnpack": "et_backends.xnnpack.passes.open_xnnpack:OpenXnnpackPass",
        "raise-xnnpack": "et_backends.xnnpack.passes.raise_xnnpack:RaiseXnnpackPass",
    },
)
