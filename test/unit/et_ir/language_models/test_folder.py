"""Folders of models: what is missing in them is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from language_models import ATTENTION, EXPERTS, random_model
from safetensors.torch import load_file, save_file

from et_ir.language_models import LanguageModelError, ModelFolder


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in shards of a few weights each."""
    path = tmp_path_factory.mktemp("model")
    random_model(ATTENTION["llama"]()).save_pretrained(path, max_shard_size="20KB")
    (path / "tokenizer.json").write_text("{}")
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    path = tmp_path / "model"
    path.mkdir()
    for file in saved.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


def test_weights_of_all_shards(folder: Path) -> None:
    model, expected = ModelFolder(folder).load(), random_model(ATTENTION["llama"]())
    assert not model.training
    found = dict(model.named_parameters())
    for name, parameter in expected.named_parameters():
        torch.testing.assert_close(found[name], parameter, rtol=0, atol=0)


def test_tokenizer_is_copied(folder: Path, tmp_path: Path) -> None:
    opened = ModelFolder(folder)
    assert opened.copy_tokenizer(tmp_path / "model.tokenizer") == tmp_path / "model.tokenizer"
    assert (tmp_path / "model.tokenizer" / "tokenizer.json").read_text() == "{}"
    (folder / "tokenizer.json").unlink()
    assert opened.copy_tokenizer(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def test_tokenizer_files_of_other_folders_are_not_copied(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").symlink_to(tmp_path / "secret")
    with pytest.raises(LanguageModelError, match=r"is a link to .*secret, which is not a file of the model"):
        ModelFolder(folder).copy_tokenizer(tmp_path / "model.tokenizer")
    assert not (tmp_path / "model.tokenizer").exists()


def test_tokenizer_files_of_a_downloaded_revision_are_copied(folder: Path, tmp_path: Path) -> None:
    """The cache has links to files that are named by their content."""
    (tmp_path / "cache" / "blobs").mkdir(parents=True)
    (tmp_path / "cache" / "snapshots").mkdir()
    revision = tmp_path / "cache" / "snapshots" / "main"
    shutil.copytree(folder, revision)
    (revision / "tokenizer.json").rename(tmp_path / "cache" / "blobs" / "1234")
    (revision / "tokenizer.json").symlink_to(Path("../../blobs/1234"))
    ModelFolder(revision).copy_tokenizer(tmp_path / "model.tokenizer")
    copy = tmp_path / "model.tokenizer" / "tokenizer.json"
    assert copy.read_text() == "{}"
    assert not copy.is_symlink()


def _shard_elsewhere(path: Path) -> None:
    index = path / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    name = content["weight_map"]["model.norm.weight"]
    (path / name).rename(path.parent / "elsewhere.safetensors")
    content["weight_map"] = {
        key: "../elsewhere.safetensors" if file == name else file
        for key, file in content["weight_map"].items()
    }
    index.write_text(json.dumps(content))


def _shard_that_is_a_link(path: Path) -> None:
    shard = sorted(path.glob("*.safetensors"))[0]
    shard.rename(path.parent / "elsewhere.safetensors")
    shard.symlink_to(path.parent / "elsewhere.safetensors")


def _config(**values: object) -> Callable[[Path], None]:
    """A change of the configuration."""

    def change(path: Path) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | values))

    return change


def test_weights_of_shards_that_the_index_lacks(folder: Path) -> None:
    """They are read as any other, as transformers does; those that the model does not need are ignored."""
    index = folder / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    shard = folder / content["weight_map"].pop("model.norm.weight")
    index.write_text(json.dumps(content))
    tensors = load_file(shard)
    tensors["model.norm.weight"] += 1
    save_file(tensors | {"model.extra.weight": torch.ones(3)}, shard, metadata={"format": "pt"})
    found = dict(ModelFolder(folder).load().named_parameters())
    torch.testing.assert_close(found["model.norm.weight"], tensors["model.norm.weight"], rtol=0, atol=0)
    assert "model.extra.weight" not in found


@pytest.mark.parametrize("name", ["auto", "bfloat16", "torch.float16", "float32", None])
def test_element_types(folder: Path, name: str | None) -> None:
    """Whatever a configuration says, weights are float32."""
    for key in ("dtype", "torch_dtype"):
        _config(**{key: name})(folder)
    assert ModelFolder(folder).load().dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_weights_of_other_floats(folder: Path, dtype: torch.dtype) -> None:
    _of_element_type(dtype)(folder)
    assert ModelFolder(folder).load().dtype == torch.float32


def _without_shard(path: Path) -> None:
    sorted(path.glob("*.safetensors"))[1].unlink()


def _damaged_shard(path: Path) -> None:
    shard = sorted(path.glob("*.safetensors"))[1]
    shard.write_bytes(shard.read_bytes()[:100])


def _without_weight(path: Path) -> None:
    index = json.loads((path / "model.safetensors.index.json").read_text())
    gone = index["weight_map"]["model.norm.weight"]
    tensors = load_file(path / gone)
    del tensors["model.norm.weight"]
    save_file(tensors, path / gone, metadata={"format": "pt"})


def _with_weight_of_no_shard(path: Path) -> None:
    index = json.loads((path / "model.safetensors.index.json").read_text())
    index["weight_map"]["model.extra.weight"] = sorted(path.glob("*.safetensors"))[0].name
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def _without_weight_in_the_index(path: Path) -> None:
    _without_weight(path)
    index = json.loads((path / "model.safetensors.index.json").read_text())
    del index["weight_map"]["model.norm.weight"]
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def _of_element_type(dtype: torch.dtype) -> Callable[[Path], None]:
    """A change of the first weight of a shard."""

    def change(path: Path) -> None:
        shard = sorted(path.glob("*.safetensors"))[0]
        tensors = load_file(shard)
        name = sorted(tensors)[0]
        save_file(tensors | {name: tensors[name].to(dtype)}, shard, metadata={"format": "pt"})

    return change


def _of_another_format(path: Path) -> None:
    for file in path.glob("*.safetensors*"):
        file.unlink()
    (path / "pytorch_model.bin").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_shard, r"1 of \d+ files of weights are missing: model-00002-of-"),
        (_shard_that_is_a_link, r"model-00001-of-\d+.safetensors is a link to .*elsewhere.safetensors"),
        (_damaged_shard, r"model-00002-of-\d+.safetensors is damaged, copy it again"),
        (
            _without_weight,
            r"index.json: 1 of \d+ weights are not .* model.norm.weight is not in model-\d+-of-\d+.safetensors",
        ),
        (_without_weight_in_the_index, r"1 weights are not in its files: model.norm.weight"),
        (
            _with_weight_of_no_shard,
            r"index.json: 1 of \d+ weights are not .* model.extra.weight is not in model-00001-of-\d+.safetensors",
        ),
        (
            _config(dtype="nothing"),
            r"config.json: dtype is 'nothing', expected one of bfloat16, float16, float32, float64",
        ),
        (_config(torch_dtype="int8"), r"config.json: torch_dtype is 'int8', expected one of bfloat16"),
        (
            _config(text_config={"dtype": ["float32"]}),
            r"config.json: dtype is \['float32'\], expected one of",
        ),
        (
            _config(vocab_size=48),
            r"2 weights have other shapes .* lm_head.weight is \[64, 32\], expected \[48, 32\]",
        ),
        (
            _of_element_type(torch.int8),
            r"[a-z_.]+weight has the element type I8, expected BF16, F16, F32, F64",
        ),
        (_of_element_type(torch.float8_e4m3fn), r"[a-z_.]+weight has the element type F8_E4M3, expected"),
        (_of_element_type(torch.bool), r"[a-z_.]+weight has the element type BOOL, expected"),
        (
            _config(quantization_config="gptq"),
            r"config.json: quantization_config is 'gptq', expected an object",
        ),
        (
            _config(num_hidden_layers=10**9),
            r"config.json: num_hidden_layers is 1000000000, and there are \d+ weights",
        ),
        (
            _config(intermediate_size=2_000_000),
            r"the model has \d\d\d,\d+,\d+ parameters, as config.json says, and its files [\d,]+",
        ),
        (_of_another_format, r"no model.safetensors and .* \(pytorch_model.bin is of another format\)"),
        (lambda path: (path / "config.json").unlink(), "has no config.json"),
        (lambda path: (path / "config.json").write_text("{"), "config.json: Expecting"),
        (lambda path: (path / "config.json").write_text("[]"), "expected an object"),
        (lambda path: (path / "generation_config.json").write_text("{"), "generation_config.json: Expecting"),
        (_config(num_hidden_layers="two"), r"num_hidden_layers.*: .*'two'"),
        (lambda path: (path / "config.json").write_text("[" * 100_000), "maximum recursion"),
        (lambda path: (path / "config.json").write_text('{"model_type": "nothing"}'), "cannot load it"),
        (lambda path: (path / "model.safetensors.index.json").write_text("{}"), "no 'weight_map'"),
        (_shard_elsewhere, "'../elsewhere.safetensors' is not a file of the folder"),
    ],
    ids=[
        *(
            "shard",
            "link",
            "damaged",
            "weight",
            "weight_and_entry",
            "extra",
            "dtype",
            "torch_dtype",
            "text_dtype",
            "sizes",
            "int8",
            "float8",
            "bool",
            "quantization",
            "layers",
            "memory",
            "format",
            "config",
            "json",
            "list",
            "generation",
            "strange",
            "nested",
            "unknown",
            "index",
            "elsewhere",
        ),
    ],
)
def test_incomplete_folders(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)
    with pytest.raises(LanguageModelError, match=message):
        ModelFolder(folder).load()


METHODS: dict[str, tuple[dict[str, object], str]] = {
    method: ({"quant_method": method}, method)
    for method in (
        *("aqlm", "auto-round", "awq", "bitnet", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "hqq"),
        *("modelopt", "mxfp4", "quanto", "torchao"),
    )
} | {
    "older": ({"load_in_4bit": True}, "bitsandbytes"),
    "other": ({"quant_method": "gptq", "dequantize": True}, "gptq"),
    "false": ({"quant_method": "mxfp4", "dequantize": False}, "mxfp4"),
}


@pytest.mark.parametrize(("options", "method"), METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("part", ["", "text_config"])
def test_methods_of_quantization(folder: Path, options: dict[str, object], method: str, part: str) -> None:
    values: dict[str, object] = {"quantization_config": options}
    _config(**({part: values} if part else values))(folder)
    with pytest.raises(LanguageModelError, match=r"config.json: the weights are quantized by") as refusal:
        ModelFolder(folder)
    assert f"by the method '{method}', which cannot be compiled" in str(refusal.value)
    assert "dequantize(), and save_pretrained()" in str(refusal.value)
    assert ("'dequantize' in quantization_config" in str(refusal.value)) == (method in ("fp8", "mxfp4"))


def test_quantization_without_a_method(folder: Path) -> None:
    _config(quantization_config={})(folder)
    with pytest.raises(LanguageModelError, match="quantized by a method that it does not name"):
        ModelFolder(folder)
    _config(quantization_config=None)(folder)
    assert ModelFolder(folder).load()
    _of_element_type(torch.int8)(folder)
    with pytest.raises(LanguageModelError, match="has the element type I8, expected"):
        ModelFolder(folder).load()


def test_weights_that_are_dequantized(tmp_path: Path) -> None:
    """Experts of MXFP4 as gpt-oss has them: pairs of 4-bit floats, with the exponent of a scale for each 32."""
    model = random_model(EXPERTS["gpt_oss"]())
    model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        # 2 is 1.0, 11 is -1.5.
        tensors[f"{name}_blocks"] = torch.full(
            (experts, outputs, inputs // 32, 16), 11 << 4 | 2, dtype=torch.uint8
        )
        tensors[f"{name}_scales"] = torch.full((experts, outputs, inputs // 32), 126, dtype=torch.uint8)
    save_file(tensors, file, metadata={"format": "pt"})
    _config(quantization_config={"quant_method": "mxfp4", "dequantize": True})(tmp_path)
    experts = ModelFolder(tmp_path).load().model.layers[1].mlp.experts
    for weight in (experts.gate_up_proj, experts.down_proj):
        assert weight.dtype == torch.float32
        expected = torch.tensor([0.5, -0.75]).repeat(weight.shape[1] // 2)[None, :, None].expand(weight.shape)
        torch.testing.assert_close(weight.detach(), expected, rtol=0, atol=0)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LanguageModelError, match="no such folder"):
        ModelFolder(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(LanguageModelError, match="is a file"):
        ModelFolder(tmp_path / "file")


@pytest.mark.parametrize(
    ("changes", "has_images"),
    [
        ({}, False),
        ({"vision_config": {}}, False),
        ({"model_type": "llava"}, False),
        ({"model_type": "llava", "vision_config": {}}, True),
    ],
    ids=["text", "an encoder beside a model of text", "a model without its encoder", "images"],
)
def test_models_that_read_images(folder: Path, changes: dict[str, object], has_images: bool) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    assert ModelFolder(folder).has_images == has_images
