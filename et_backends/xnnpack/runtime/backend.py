"""The backend that runs graphs made for XNNPACK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from et_backends.xnnpack.format.blob import read_xnnpack
from et_backends.xnnpack.runtime.delegate import Delegate
from et_backends.xnnpack.runtime.graph import XnnpackGraph
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext, Handle, PartWork
from et_vm.backends.accounting import Accountant

if TYPE_CHECKING:
    from et_schema.program import CompileSpec


class XnnpackBackend(Backend):
    """Translates each graph to our own kernels when it is loaded. Events are of nodes, by their debug handles."""

    backend_id = "XnnpackBackend"

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        """Raises InvalidFile(DelegateInvalidCompatibility), with table path and byte, for a blob that makes no sense,
        and OutOfMemory for one that needs more memory than there is, ExecutorchError(OutOfResources) for one whose
        loading takes more work than the limit.
        """
        del compile_specs
        blob = read_xnnpack(processed)
        delegate = Delegate(
            XnnpackGraph(blob, context.named_data, Accountant(context.platform, context.meter)),
            context.platform,
            context.kernels,
            context.arguments,
            context.meter,
        )
        if not blob.constants and not blob.graph.constant_buffer:
            # All that is left of it is in the delegate.
            processed.release()
        return delegate

    def memory_report(self, handle: Handle) -> Mapping[str, int]:
        assert isinstance(handle, Delegate)
        return handle.memory_report()

    def work_report(self, handle: Handle) -> Sequence[PartWork]:
        assert isinstance(handle, Delegate)
        return handle.work_report()

    def execute(self, context: BackendExecuteContext, handle: Handle, args: Sequence[object]) -> None:
        assert isinstance(handle, Delegate)
        if context.tracer is None:
            handle.run(args)
        else:
            handle.run_observed(args, context)
