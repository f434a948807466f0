"""Attention formed over caches of exported decoders, on both runtimes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from language_models import ATTENTION, VOCABULARY, random_model
from stock import StockRuntime
from xdsl.context import Context

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, raise_program
from et_ir.driver.managers import EdgeProgramManager
from et_ir.driver.stages import edge_stages, run_stages
from et_ir.frontend import import_program
from et_ir.language_models import CachedDecoder, Sizes, export_decoder
from et_ir.passes.aten_to_core.form_cache_updates import FormCacheUpdatesPass
from et_ir.passes.aten_to_core.form_cached_attention import FormCachedAttentionPass
from et_ir.passes.aten_to_core.permute_state import PermuteStatePass
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

TOKENS: Final = torch.randint(0, VOCABULARY, (1, 20), generator=torch.Generator().manual_seed(0))
PLACES: Final = 24
CALLS: Final = ((0, 5), (5, 6), (6, 12), (12, 13), (3, 7))
"""The first and the last token of each call: the last one goes back."""


@pytest.fixture(scope="module")
def stock() -> Iterator[StockRuntime]:
    with StockRuntime(language_models=True) as runtime:
        yield runtime


def exported_by_transformers(model: Any) -> Any:
    """With the static cache of transformers, whose positions follow a counter."""
    from transformers import GenerationConfig
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    cache = {"batch_size": 1, "max_cache_len": PLACES}
    model.generation_config = GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=PLACES, cache_config=cache
    )
    length = torch.export.Dim("length", min=1, max=PLACES - 1)
    exportable: Any = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=PLACES)
    return exportable.export(
        input_ids=torch.zeros(1, 3, dtype=torch.int64),
        cache_position=torch.arange(3),
        dynamic_shapes={"input_ids": {1: length}, "cache_position": {0: length}},
        strict=True,
    )


def exported_written_out(model: Any) -> Any:
    """As transformers does, with attention as products and a softmax."""
    model.set_attn_implementation("eager")
    return exported_by_transformers(model)


def exported_here(model: Any) -> Any:
    """With positions that the caller gives."""
    sizes = Sizes(PLACES, 8)
    return export_decoder(CachedDecoder(model, sizes, all_logits=True), sizes).programs


def compiled(programs: Any, path: Path, target: str, **options: bool) -> Any:
    """The plans of the file, by method."""
    module = import_program(programs)
    for one in (FormCachedAttentionPass(**options), PermuteStatePass(), FormCacheUpdatesPass(**options)):
        one.apply(Context(), module)
    run_stages(module, edge_stages(EdgeCompileConfig()), None)
    operators = ["llama::custom_sdpa.out", "llama::update_cache.out"]
    config = ExecutorchBackendConfig(target=target, extra_operators=operators)
    EdgeProgramManager(module).to_executorch(config).save(path)
    return read_pte(memoryview(path.read_bytes())).program.execution_plan


@pytest.mark.parametrize(
    ("export", "family", "options", "update"),
    [
        (exported_by_transformers, "llama", {}, "llama::update_cache"),
        (exported_written_out, "llama", {}, "llama::update_cache"),
        (exported_here, "llama", {}, "aten::index_put_"),
        (exported_here, "llama", {"consecutive": True}, "llama::update_cache"),
        (exported_here, "gemma3", {}, "aten::index_put_"),
    ],
    ids=["transformers-llama", "transformers-llama-written-out", "llama", "llama-consecutive", "gemma3"],
)
def test_decoders(
    export: Any, family: str, options: Any, update: str, stock: StockRuntime, tmp_path: Path
) -> None:
    model = random_model(ATTENTION[family]())
    with torch.no_grad():
        expected = model(input_ids=TOKENS, use_cache=False).logits
    with warnings.catch_warnings(action="ignore"):  # of transformers about its own code
        programs = export(model)
    path = tmp_path / "model.pte"
    for plan in compiled(programs, path, "et-vm", **options):
        names = [one.name for one in plan.operators]
        assert "llama::custom_sdpa" in names
        assert "aten::bmm" not in names
        # A single token's place is always known to be the first of consecutive ones.
        assert ("llama::update_cache" if plan.name == "decode" else update) in names
    program = Runtime().load_program(path, poison=True)
    methods = {name: program.load_method(name) for name in program.method_names}
    for_stock = tmp_path / "stock.pte"
    compiled(
        programs["forward"] if isinstance(programs, dict) else programs, for_stock, "stock-1.5", **options
    )
    # Compiled again, attention is a call of the same operator.
    again = [raise_program(path.read_bytes()), raise_program(for_stock.read_bytes())]
    extra = ["llama::custom_sdpa.out", "llama::update_cache.out"]
    again[0].to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
    config = ExecutorchBackendConfig(target="stock-1.5", extra_operators=extra)
    again[1].to_executorch(config).save(for_stock)
    program_again = Runtime().load_program(path, poison=True)
    methods_again = {name: program_again.load_method(name) for name in program_again.method_names}
    for first, last in CALLS:
        method = methods.get("decode" if last == first + 1 else "forward", methods["forward"])
        inputs = [TOKENS[:, first:last].contiguous(), torch.arange(first, last)]
        (found,) = method.execute(inputs)
        torch.testing.assert_close(found, expected[:, first:last], rtol=1e-4, atol=1e-5)
        (found,) = stock.run_on(for_stock, inputs)
        torch.testing.assert_close(found, expected[:, first:last], rtol=1e-4, atol=1e-5)
        method = methods_again.get("decode" if last == first + 1 else "forward", methods_again["forward"])
        (found,) = method.execute(inputs)
        torch.testing.assert_close(found, expected[:, first:last], rtol=1e-4, atol=1e-5)
