"""Folders of models: what is missing in them is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from language_models import ATTENTION, random_model

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


def _without_shard(path: Path) -> None:
    sorted(path.glob("*.safetensors"))[1].unlink()


def _damaged_shard(path: Path) -> None:
    shard = sorted(path.glob("*.safetensors"))[1]
    shard.write_bytes(shard.read_bytes()[:100])


def _without_weight(path: Path) -> None:
    index = json.loads((path / "model.safetensors.index.json").read_text())
    gone = index["weight_map"]["model.norm.weight"]
    from safetensors.torch import load_file, save_file

    tensors = load_file(path / gone)
    del tensors["model.norm.weight"]
    save_file(tensors, path / gone, metadata={"format": "pt"})


def _of_other_sizes(path: Path) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"vocab_size": 48}))


def _of_strange_layers(path: Path) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": "two"}))


def _of_another_format(path: Path) -> None:
    for file in path.glob("*.safetensors*"):
        file.unlink()
    (path / "pytorch_model.bin").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_shard, r"1 of \d+ files of weights are missing: model-00002-of-"),
        (_damaged_shard, r"model-00002-of-\d+.safetensors is damaged, copy it again"),
        (_without_weight, r"1 weights are not in its files: model.norm.weight"),
        (
            _of_other_sizes,
            r"2 weights have other shapes .* lm_head.weight is \[64, 32\], expected \[48, 32\]",
        ),
        (_of_another_format, r"no model.safetensors and .* \(pytorch_model.bin is of another format\)"),
        (lambda path: (path / "config.json").unlink(), "has no config.json"),
        (lambda path: (path / "config.json").write_text("{"), "config.json: Expecting"),
        (lambda path: (path / "config.json").write_text("[]"), "expected an object"),
        (lambda path: (path / "generation_config.json").write_text("{"), "generation_config.json: Expecting"),
        (_of_strange_layers, r"num_hidden_layers.*: .*'two'"),
        (lambda path: (path / "config.json").write_text("[" * 100_000), "maximum recursion"),
        (lambda path: (path / "config.json").write_text('{"model_type": "nothing"}'), "cannot load it"),
        (lambda path: (path / "model.safetensors.index.json").write_text("{}"), "no 'weight_map'"),
    ],
    ids=[
        *(
            "shard",
            "damaged",
            "weight",
            "sizes",
            "format",
            "config",
            "json",
            "list",
            "generation",
            "strange",
            "nested",
            "unknown",
            "index",
        ),
    ],
)
def test_incomplete_folders(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)
    with pytest.raises(LanguageModelError, match=message):
        ModelFolder(folder).load()


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LanguageModelError, match="no such folder"):
        ModelFolder(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(LanguageModelError, match="is a file"):
        ModelFolder(tmp_path / "file")
