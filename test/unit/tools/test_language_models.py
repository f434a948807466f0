"""et-compile of folders of Hugging Face: files that run step by step, and messages for what cannot be compiled."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from language_models import ATTENTION, RECURRENT, hf, random_model
from support.command_line import Command

from et_vm.runtime import Runtime

TOKENS = torch.arange(3, 19)[None]


@pytest.fixture
def model(workplace: Path) -> Path:
    """A folder with a small Llama."""
    path = workplace / "llama"
    random_model(ATTENTION["llama"]()).save_pretrained(path)
    (path / "tokenizer.json").write_text("{}")
    return path


@pytest.mark.usefixtures("model")
def test_prompt_and_steps(command: Command) -> None:
    line = ("et-compile", "hf:llama", "-o", "m.pte", "--max-len", "32", "--max-prefill", "8", "-q")
    assert command(*line, "--target", "et-vm") == (0, "", "")
    assert Path("m.tokenizer/tokenizer.json").read_text() == "{}"
    program = Runtime().load_program("m.pte")
    constants = {
        name: program.load_method(name).execute([])
        for name in ("get_max_seq_len", "get_max_context_len", "get_vocab_size")
    }
    assert constants == {"get_max_seq_len": [8], "get_max_context_len": [32], "get_vocab_size": [64]}
    forward, decode = program.load_method("forward"), program.load_method("decode")
    with torch.no_grad():
        expected = random_model(ATTENTION["llama"]())(TOKENS, use_cache=False).logits[0]
    for first, last in ((0, 8), (8, 13)):
        (found,) = forward.execute([TOKENS[:, first:last], torch.arange(first, last)])
    torch.testing.assert_close(torch.as_tensor(found)[0], expected[12])
    for place in range(13, 16):
        (found,) = decode.execute([TOKENS[:, place : place + 1], torch.tensor([place])])
        torch.testing.assert_close(torch.as_tensor(found)[0], expected[place])


@pytest.mark.usefixtures("model")
def test_decoding_writes_one_row_of_the_cache(command: Command) -> None:
    line = ("et-compile", "hf:llama", "-o", "m.pte", "--max-len", "32", "--max-prefill", "8", "-q")
    assert command(*line, "--target", "et-vm").code == 0
    ran = command("et-vm", "profile", "m.pte", "--method", "decode", "--input", "ones", "--json", "--no-peak")
    config = ATTENTION["llama"]()
    row = config.num_key_value_heads * config.head_dim * 4
    updates = [one for one in json.loads(ran.out)["rows"] if "aten::index_put_" in one["name"]]
    assert [one["bytes_written"] for one in updates] == [row] * 2 * config.num_hidden_layers


def _bytes_written(command: Command, length: int) -> list[tuple[str, int]]:
    """The instructions of `decode` for a cache of some length, and the bytes that each writes."""
    line = ("et-compile", "hf:llama", "-o", "m.pte", "--max-len", str(length), "--max-prefill", "8", "-q")
    assert command(*line, "--target", "et-vm").code == 0
    ran = command("et-vm", "profile", "m.pte", "--method", "decode", "--input", "ones", "--json", "--no-peak")
    return [(one["name"], one["bytes_written"]) for one in json.loads(ran.out)["rows"]]


@pytest.mark.usefixtures("model")
def test_decoding_copies_nothing_of_the_cache(command: Command) -> None:
    """Heads of a group read their keys and values where they are.

    With the length of the cache grow scores alone, as the product, in the order of heads, with the mask and as
    weights, and the mask, as booleans and as floats.
    """
    config = ATTENTION["llama"]()
    assert config.num_key_value_heads < config.num_attention_heads
    lengths = (32, 64)
    short, long = ([*_bytes_written(command, length)] for length in lengths)
    for length, found in zip(lengths, (short, long), strict=True):
        keys_of_layer = length * config.num_key_value_heads * config.head_dim * 4
        assert max(size for _, size in found) < keys_of_layer
    growth: Counter[str] = Counter()
    for sign, found in ((-1, short), (1, long)):
        for name, size in found:
            growth[name] += sign * size
    places = lengths[1] - lengths[0]
    scores = places * config.num_attention_heads * 4 * config.num_hidden_layers
    assert {name: size for name, size in growth.items() if size} == {
        "aten::bmm.out": scores,
        "aten::permute_copy.out": scores,
        "aten::add.out": scores,
        "aten::_softmax.out": scores,
        "aten::le.Tensor_out": places,
        "aten::where.self_out": places * 4,
    }


@pytest.mark.usefixtures("model")
def test_quantized(command: Command) -> None:
    line = ("et-compile", "hf:llama", "-o", "m.pte", "--target", "et-vm", "--max-len", "32")
    ran = command(*line, "--quantize", "8da4w", "--all-logits")
    assert ran.code == 0
    assert "model.layers.1.mlp.down_proj" in ran.err
    (found,) = (
        Runtime()
        .load_program("m.pte")
        .load_method("forward")
        .execute([TOKENS, torch.arange(TOKENS.shape[1])])
    )
    with torch.no_grad():
        expected = random_model(ATTENTION["llama"]())(TOKENS, use_cache=False).logits
    assert found.shape == expected.shape
    similarity = torch.nn.functional.cosine_similarity(torch.as_tensor(found), expected, dim=-1)
    assert similarity.min() > 0.9


def test_one_token_at_a_time(command: Command) -> None:
    random_model(RECURRENT["mamba"]()).save_pretrained("mamba")
    ran = command("et-compile", "hf:mamba", "-o", "m.pte")
    assert ran.code == 0
    assert "prompts are taken one token at a time: its recurrent layers" in ran.err
    assert not Path("m.tokenizer").exists()
    assert Runtime().load_program("m.pte").load_method("get_max_seq_len").execute([]) == [1]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["hf:absent"], 3, "absent: no such folder"),
        (["hf:"], 2, "names no folder"),
        (["hf:llama", "--max-len", "65"], 2, "--max-len 65: the model has 64 positions"),
        (["hf:llama", "--max-len", "0"], 2, "'0' is not a positive number"),
        (["hf:llama", "--max-len", "8", "--max-prefill", "9"], 2, "--max-prefill 9: the context has 8"),
        (["hf:llama", "--quantize", "int8"], 2, "scales of activations from data"),
        (["hf:llama", "--quantize", "int8-weights", "--calibrate", "x.npz"], 2, "does not apply"),
        (["relu.mlir", "--max-len", "8"], 2, "--max-len applies to hf:FOLDER only"),
        (["relu.mlir", "--quantize-cache"], 2, "--quantize-cache applies to hf:FOLDER only"),
        (["relu.mlir", "--custom-sdpa"], 2, "--custom-sdpa applies to hf:FOLDER only"),
        (["hf:llama", "--custom-sdpa", "--quantize-cache"], 2, "leave out --quantize-cache"),
        (["hf:llama", "--bundle", "llama/model.safetensors"], 2, "would overwrite a file of the model"),
        (["hf:llama", "--image-size", "8x8"], 2, "--image-size: the model does not take images"),
        (["relu.mlir", "--all-logits"], 2, "--all-logits applies to hf:FOLDER only"),
    ],
)
@pytest.mark.usefixtures("model")
def test_refusals(command: Command, options: list[str], code: int, message: str) -> None:
    ran = command("et-compile", *options, "-o", "m.pte", "-q")
    assert ran.code == code
    assert message in ran.err
    assert not Path("m.pte").exists()


def test_output_in_the_folder_of_the_model(command: Command, model: Path) -> None:
    """A new file may be there; one of the model's stays as it is."""
    before = (model / "model.safetensors").read_bytes()
    ran = command("et-compile", "hf:llama", "-o", "llama/../llama/model.safetensors", "-q")
    assert (ran.code, "would overwrite a file of the model" in ran.err) == (2, True)
    assert (model / "model.safetensors").read_bytes() == before
    line = ("et-compile", "hf:llama", "-o", "llama/llama.pte", "--max-len", "8", "-q")
    for _ in range(2):  # a program of before may be overwritten
        assert command(*line, "--debug-map", "llama/map.json").code == 0


def test_model_without_such_a_form(command: Command) -> None:
    """BLOOM takes no mask of four dimensions."""
    random_model(hf.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4)).save_pretrained("bloom")
    ran = command("et-compile", "hf:bloom", "-o", "m.pte", "-q")
    assert ran.code == 3
    assert "BloomForCausalLM cannot be exported with a cache of fixed size: ValueError" in ran.err


def test_missing_shard(command: Command, model: Path) -> None:
    shutil.rmtree(model)
    random_model(ATTENTION["llama"]()).save_pretrained(model, max_shard_size="20KB")
    sorted(model.glob("*.safetensors"))[0].unlink()
    ran = command("et-compile", "hf:llama", "-o", "m.pte", "-q")
    assert ran.code == 3
    assert "files of weights are missing: model-00001-of-" in ran.err
