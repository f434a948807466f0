"""ExecuTorch's own runner of language models on our files, whose methods do not share state there."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from clients import answer_of
from language_models import ATTENTION, ENCODER_DECODERS, VOCABULARY, hf, random_encoder_decoder, random_model
from support.language_model import model as random_llama
from support.language_model import tokenizer

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.language_models import CachedDecoder, LanguageModelError, Sizes, check_decoder, export_decoder
from et_ir.language_models.custom_attention import custom_sdpa
from et_schema.pte import read_pte
from et_vm.llm import GenerationConfig, TextLLMRunner
from et_vm.runtime import Runtime

RUN: Final = """
import json, sys
import executorch.extension.pybindings.portable_lib
from executorch.extension.llm.custom_ops import custom_ops
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
program, tokenizer = sys.argv[1:]
pieces = []
config = GenerationConfig(temperature=0.0, max_new_tokens=12, echo=False, num_bos=1)
TextLLMRunner(program, tokenizer).generate("the import", config, token_callback=pieces.append)
print(json.dumps("".join(pieces)))
"""
OTHER: Final = """
import json, sys
import torch
from executorch.extension.pybindings import portable_lib
from executorch.extension.llm.custom_ops import custom_ops
program, tokens, count = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
module = portable_lib._load_for_executorch(program)
assert module.method_meta("forward").input_tensor_meta(1).sizes()[0] > 1
names = ("get_max_batch_size", "get_dtype", "get_head_dim", "get_n_kv_heads", "use_kv_cache", "use_sdpa_with_kv_cache")
constants = [module.run_method(name)[0] for name in names]
places = module.run_method("get_max_seq_len")[0]
given, start = tokens, 0
while len(tokens) < places and count:
    positions = torch.arange(start, start + len(given))
    logits = module.forward((torch.tensor([given]), positions))[0]
    assert logits.shape[:2] == (1, len(given))
    given, start, count = [int(logits[0, -1].argmax())], len(tokens), count - 1
    tokens = tokens + given
print(json.dumps([constants, tokens]))
"""
"""A runner as other packages have it: it reads constant methods, and takes the last of all logits."""
OPTIMUM: Final = """
import json, sys
from executorch.extension.llm.custom_ops import custom_ops
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from optimum.executorch.modeling import ExecuTorchModelForCausalLM
from transformers import AutoConfig
path, folder, tokens, count = sys.argv[1:]
module = _load_for_executorch(path)
runner = ExecuTorchModelForCausalLM({"model": module}, AutoConfig.from_pretrained(folder))
found = runner.generate(json.loads(tokens), echo=True, max_seq_len=int(count))
constants = [runner.max_cache_size, runner.max_batch_size, runner.dtype, runner.bos_token_id, runner.vocab_size]
print(json.dumps([found, constants, runner.eos_token_ids]))
"""
"""The runner of `optimum-executorch`."""
SOURCES: Final = """
import json, sys
import torch
from executorch.extension.pybindings import portable_lib
module = portable_lib._load_for_executorch(sys.argv[1])
source = torch.load(sys.argv[2])
names = ("decoder_start_token_id", "get_bos_id", "get_eos_id", "get_max_seq_len", "get_max_batch_size", "get_dtype")
constants = dict(zip(names, (module.run_method(name)[0] for name in names)))
tokens, hidden = [constants["decoder_start_token_id"]], None
for place in range(constants["get_max_seq_len"] - 1):
    if hidden is None:
        hidden = module.run_method("encoder", (source,))[0]
    given = (torch.tensor([tokens[-1:]]), hidden, torch.tensor([place]))
    logits = module.run_method("text_decoder", given)[0]
    tokens.append(torch.argmax(logits[:, -1, :], dim=-1).item())
    if tokens[-1] == constants["get_eos_id"]:
        break
print(json.dumps([constants, tokens]))
"""
"""The same for encoder-decoders, which runs the encoder once, and takes one token a call, the first ones, too."""
TOKENS: Final = torch.randint(0, VOCABULARY, (1, 20), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama that writes ASCII, and its tokenizer."""
    path = tmp_path_factory.mktemp("runner") / "llama"
    made = tokenizer(path)
    model = random_llama()
    for token in range(model.config.vocab_size):
        if len(made.decode([token])) == 0 or not made.decode([token]).isascii():
            model.lm_head.weight.data[token] = 0
    model.save_pretrained(path)
    return path


@pytest.mark.parametrize("options", [(), ("--custom-sdpa",)], ids=["plain", "custom_sdpa"])
def test_text_by_the_stock_runner(folder: Path, options: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    command = Path(sys.executable).parent / "et-compile"
    sizes = ("--max-len", "48", "--max-prefill", "8", "-q")
    subprocess.run([command, f"hf:{folder}", "-o", path, *sizes, *options], check=True)
    program = Runtime().load_program(path)
    assert "decode" not in program.method_names
    (plan,) = (
        one for one in read_pte(memoryview(path.read_bytes())).program.execution_plan if one.name == "forward"
    )
    assert any(one.name == "llama::custom_sdpa" for one in plan.operators) is bool(options)
    runner = TextLLMRunner(path, tmp_path / "model.tokenizer")
    text = runner.generate("the import", GenerationConfig(temperature=0.0, max_new_tokens=12))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, path, folder / "tokenizer.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == text


@pytest.fixture(scope="module")
def with_logits(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the logits of all tokens, and caches in the layout of `optimum-executorch`."""
    path = tmp_path_factory.mktemp("logits") / "model.pte"
    command = Path(sys.executable).parent / "et-compile"
    options = ("--max-len", "48", "--max-prefill", "48", "--all-logits", "--custom-sdpa", "-q")
    subprocess.run([command, f"hf:{folder}", "-o", path, *options], check=True)
    return path


def _greedy(folder: Path, tokens: list[int], count: int) -> list[int]:
    """Tokens and as many of the most probable that follow, without a cache."""
    model = hf.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        for _ in range(count):
            logits = model(torch.tensor([tokens]), use_cache=False).logits
            tokens = [*tokens, int(logits[0, -1].argmax())]
    return tokens


def test_tokens_by_other_runners(folder: Path, with_logits: Path) -> None:
    tokens = TOKENS[0, :20].tolist()
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OTHER, with_logits, json.dumps(tokens), "12"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    constants, found = json.loads(ran.stdout.splitlines()[-1])
    config = hf.AutoConfig.from_pretrained(folder)
    head = config.hidden_size // config.num_attention_heads
    assert constants == [1, 6, head, config.num_key_value_heads, True, True]
    assert found == _greedy(folder, tokens, 12)


def test_tokens_by_the_runner_of_optimum(folder: Path, with_logits: Path) -> None:
    tokens = TOKENS[0, :20].tolist()
    found, constants, ends = answer_of(OPTIMUM, with_logits, folder, json.dumps(tokens), "32")
    config = hf.AutoConfig.from_pretrained(folder)
    assert constants == [48, 1, 6, config.bos_token_id, config.vocab_size]
    wanted = _greedy(folder, tokens, 12)
    until = next((at + 1 for at, token in enumerate(wanted) if at > 20 and token in ends), len(wanted))
    assert found == wanted[:until]


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_tokens_behind_sources_by_other_runners(family: str, tmp_path: Path) -> None:
    model = random_encoder_decoder(family)
    start = model.config.decoder_start_token_id
    whisper = family == "whisper"
    source = torch.randn(1, 8, 40) if whisper else torch.randint(3, VOCABULARY, (1, 7))
    expected = [start]
    with torch.no_grad():
        while len(expected) < 12:
            written = torch.tensor([expected])
            outputs = model(**{model.main_input_name: source}, decoder_input_ids=written, use_cache=False)
            expected.append(int(outputs.logits[0, -1].argmax()))
    # The text ends before the places do, at the first of two ids that end it.
    end = expected[7]
    expected = expected[: expected.index(end, 1) + 1]
    model.generation_config.eos_token_id = [end, VOCABULARY - 1]
    model.save_pretrained(tmp_path / "model")
    torch.save(source, tmp_path / "source.pt")
    command = Path(sys.executable).parent / "et-compile"
    sizes = ("--max-len", "12", "--max-prefill", "12", "-q")
    path = tmp_path / "model.pte"
    subprocess.run([command, f"hf:{tmp_path / 'model'}", "-o", path, *sizes], check=True)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SOURCES, path, tmp_path / "source.pt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    constants, found = json.loads(ran.stdout.splitlines()[-1])
    assert constants == {
        "decoder_start_token_id": start,
        "get_bos_id": start,
        "get_eos_id": end,
        "get_max_seq_len": 12,
        "get_max_batch_size": 1,
        "get_dtype": 6,
    }
    assert found == expected


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("start", [0, 4])
def test_formula(start: int, scale: float | None) -> None:
    """What stands in for the operator where ExecuTorch is not installed."""
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module("executorch.extension.llm.custom_ops.custom_ops")
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, 3, 4, 8, generator=generator)
    key, value = torch.randn(2, 1, 10, 2, 8, generator=generator)
    mask = torch.randn(3, 10, generator=generator)
    for rest in ((start, None, 0.0, True, scale), (0, mask, 0.0, False, scale)):
        wanted = torch.ops.llama.custom_sdpa(query, key, value, *rest)
        torch.testing.assert_close(custom_sdpa(query, key, value, *rest), wanted)


@pytest.mark.parametrize("family", ["gemma3", "mistral"])
def test_custom_attention(family: str) -> None:
    """Prompts in two calls, and steps, with full and sliding attention; the cache is written, and read, in place."""
    model = random_model(ATTENTION[family]())
    with torch.no_grad():
        expected = model(TOKENS, use_cache=False).logits[0]
    sizes = Sizes(context=40, chunk=12)
    decoder = CachedDecoder(model, sizes, custom_attention=True)
    check_decoder(model, decoder)
    found = export_decoder(decoder, sizes)
    config = ExecutorchBackendConfig(target="et-vm")
    program = Runtime().load_program(to_edge(found.programs).to_executorch(config).buffer, poison=True)
    forward, decode = program.load_method("forward"), program.load_method("decode")
    for first, last in ((0, 5), (5, 12), *((at, at + 1) for at in range(12, 20))):
        method: Any = forward if last - first > 1 else decode
        (logits,) = method.execute([TOKENS[:, first:last], torch.arange(first, last)])
        torch.testing.assert_close(torch.as_tensor(logits)[0], expected[last - 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("family", "message"), [("gemma2", "does not support"), ("deepseek_v3", "keys and values of one size")]
)
def test_attention_that_it_is_not(family: str, message: str) -> None:
    model = random_model(ATTENTION[family]())
    with pytest.raises(LanguageModelError, match=message):
        CachedDecoder(model, Sizes(context=40, chunk=12), custom_attention=True)
