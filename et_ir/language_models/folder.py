"""Folders of models as Hugging Face lays them out: configuration, weights in safetensors, tokenizer."""

from __future__ import annotations

import json
import logging
import os
import shutil
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Final, cast

from safetensors import SafetensorError, safe_open

from et_ir.language_models.errors import LanguageModelError
from et_schema.files import is_bare_name

__all__ = ["TOKENIZER_FILES", "ModelFolder"]

_WEIGHTS: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_FLOATS: Final = frozenset({"F64", "F32", "F16", "BF16"})
"""Element types of weights in safetensors that are not quantized."""
_QUANTIZATION: Final = "quantization_config"
_DEQUANTIZED: Final = frozenset({"fp8", "mxfp4"})
"""Methods of quantization whose weights transformers makes floats of if the configuration has `dequantize`."""
_DTYPES: Final = ("bfloat16", "float16", "float32", "float64")
"""Element types of weights that a configuration may name."""
_LAYERS: Final = 100
"""Layers that any model may have: a few share weights."""
_SLACK: Final = 1 << 20
"""Parameters that a model may have beside those in its files: it is told which are missing."""
TOKENIZER_FILES: Final = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "preprocessor_config.json",
    "processor_config.json",
)
"""Files of tokenizers and of preprocessors of images and audio; a folder has some of them."""


class ModelFolder:
    """A folder with `config.json` and weights in safetensors, in one file or in shards with an index.

    Raises `LanguageModelError` for a folder that lacks one of them, or a weight of the index, and names it; also for an
    element type in the configuration that is none, for weights that are links out of the folder, and for quantized
    weights that are not dequantized when loaded.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise LanguageModelError(
                f"{path}: {'is a file' if path.exists() else 'no such folder'}: hf: takes the folder of a "
                "model, with config.json, safetensors and tokenizer; nothing is downloaded"
            )
        self.path = path
        self.config = _json(path / "config.json", "the configuration of a model")
        _check_dtypes(path / "config.json", self.config)
        _check_quantization(path / "config.json", self.config)
        generation = path / "generation_config.json"
        if generation.is_file():
            # transformers ignores one that it cannot read, and so the ids that end texts.
            _json(generation, "a configuration of generation")
        self._check_weights()

    def _check_weights(self) -> None:
        index = self.path / _INDEX
        if not index.is_file():
            if not (self.path / _WEIGHTS).is_file():
                others = sorted(
                    one.name for one in self.path.iterdir() if one.suffix in (".bin", ".pt", ".gguf")
                )
                told = f" ({others[0]} is of another format)" if others else ""
                raise LanguageModelError(f"{self.path} has no {_WEIGHTS} and no {_INDEX}{told}")
            weights: dict[str, Any] = {}
            names = [_WEIGHTS]
        else:
            mapping: Any = _json(index, "an index of weights").get("weight_map")
            weights = cast("dict[str, Any]", mapping) if isinstance(mapping, dict) else {}
            if not weights or not all(isinstance(one, str) for one in weights.values()):
                raise LanguageModelError(f"{index}: no 'weight_map' from names of weights to files")
            names = sorted(set(weights.values()))
            elsewhere = next((name for name in names if not is_bare_name(name)), None)
            if elsewhere is not None:
                raise LanguageModelError(f"{index}: '{elsewhere}' is not a file of the folder")
        self._check_links([self.path / name for name in (*names, _INDEX)])
        missing = [name for name in names if not (self.path / name).is_file()]
        if missing:
            raise LanguageModelError(
                f"{self.path}: {len(missing)} of {len(names)} files of weights are missing: "
                f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
            )
        found: dict[str, dict[str, str]] = {}
        self._elements = 0
        for name in names:
            try:
                opened: Any = safe_open(self.path / name, "numpy")
                with opened as file:
                    slices = {one: file.get_slice(one) for one in file.keys()}  # noqa: SIM118  (no mapping)
                    found[name] = {one: str(part.get_dtype()) for one, part in slices.items()}
                    self._elements += sum(prod(part.get_shape()) for part in slices.values())
            except (SafetensorError, OSError) as error:
                raise LanguageModelError(f"{self.path / name} is damaged, copy it again: {error}") from None
        absent = [(weight, file) for weight, file in weights.items() if weight not in found[Path(file).name]]
        if absent:
            weight, file = absent[0]
            raise LanguageModelError(
                f"{index}: {len(absent)} of {len(weights)} weights are not in the files that it names: {weight} is not "
                f"in {file}; copy the index and the files again"
            )
        self._kinds = {weight: kind for kinds in found.values() for weight, kind in kinds.items()}
        self._check_layers()

    def _check_layers(self) -> None:
        """Raise `LanguageModelError` for many more layers than there are weights: each takes time to make."""
        most = max(_LAYERS, len(self._kinds))
        for part in _parts(self.config):
            for key, value in part.items():
                if "layer" in key and isinstance(value, int) and value > most:
                    raise LanguageModelError(
                        f"{self.path / 'config.json'}: {key} is {value}, and there are {len(self._kinds)} weights"
                    )

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model has an encoder beside its decoder."""
        return bool(self.config.get("is_encoder_decoder", False))

    @property
    def has_images(self) -> bool:
        """Whether the model reads images and text."""
        from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as NAMES

        return "vision_config" in self.config and self.config.get("model_type") in NAMES

    def _auto_class(self, transformers: Any) -> Any:
        """The class of transformers that chooses by configuration."""
        if self.has_images:
            return transformers.AutoModelForImageTextToText
        if not self.is_encoder_decoder:
            return transformers.AutoModelForCausalLM
        from transformers.models.auto.modeling_auto import MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES

        if self.config.get("model_type") in MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES:
            return transformers.AutoModelForSpeechSeq2Seq
        return transformers.AutoModelForSeq2SeqLM

    def load(self) -> Any:
        """The model in float32 and evaluation mode.

        Weights of float32 stay in the file, mapped. Raises `LanguageModelError` for weights that are damaged, missing
        or of other shapes, and for a model that transformers does not know.
        """
        import torch

        with _quiet():
            import transformers

            cls = self._auto_class(transformers)
            options: dict[str, Any] = {
                "local_files_only": True,
                "trust_remote_code": False,
                "dtype": torch.float32,
                "ignore_mismatched_sizes": True,  # which is told of instead
            }
            try:
                self._check_size(cls, transformers)
                try:
                    found = self._loaded(cls, options | {"attn_implementation": "sdpa"})
                except ValueError as error:
                    if "scaled_dot_product_attention" not in str(error):
                        raise
                    found = self._loaded(cls, options | {"attn_implementation": "eager"})
            except LanguageModelError:
                raise
            except Exception as error:
                if "trust_remote_code" in str(error):
                    raise LanguageModelError(
                        f"{self.path}: the model is code of its own ('auto_map' in config.json), which is not run: "
                        "load it in a factory that you give in the place of the folder"
                    ) from error
                # The reason may be in the second line.
                first = " ".join(line.strip() for line in str(error).strip().splitlines()[:2])
                raise LanguageModelError(
                    f"{self.path}: transformers cannot load it: {type(error).__name__}: {first}"
                ) from error
        return found.eval()

    def _check_size(self, cls: Any, transformers: Any) -> None:
        """Raise `LanguageModelError` for a model that is much larger than its weights, before it takes memory."""
        import torch

        options: dict[str, Any] = {"trust_remote_code": False, "dtype": torch.float32}
        config = transformers.AutoConfig.from_pretrained(self.path, local_files_only=True, **options)
        with torch.device("meta"):
            model = cls.from_config(config, attn_implementation="eager", **options)
        size = sum(parameter.numel() for parameter in model.parameters())
        # Weights of 4 bits are in elements of two.
        if size > 2 * self._elements + _SLACK:
            raise LanguageModelError(
                f"{self.path}: the model has {size:,} parameters, as config.json says, and its files {self._elements:,}"
            )

    def _loaded(self, cls: Any, options: dict[str, Any]) -> Any:
        model, told = cls.from_pretrained(self.path, output_loading_info=True, **options)
        others = sorted(told.get("mismatched_keys", ()))
        if others:
            name, found, expected = others[0]
            raise LanguageModelError(
                f"{self.path}: {len(others)} weights have other shapes than config.json says: {name} is {list(found)}, "
                f"expected {list(expected)}"
            )
        missing = sorted(told.get("missing_keys", ()))
        if missing:
            raise LanguageModelError(
                f"{self.path}: {len(missing)} weights are not in its files: "
                f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
            )
        self._check_kinds(model)
        return model

    def _check_kinds(self, model: Any) -> None:
        """Raise `LanguageModelError` for parameters that are not floats in the file.

        transformers takes integers as they are, without the scales that a quantized model has for them.
        """
        if any(part.get(_QUANTIZATION) is not None for part in _parts(self.config)):
            return  # they are dequantized
        for name, _ in model.named_parameters():
            # The files of some models lack the name of the part that a head is put on.
            for one in (name, name.removeprefix(f"{model.base_model_prefix}.")):
                kind = self._kinds.get(one)
                if kind is not None and kind not in _FLOATS:
                    raise LanguageModelError(
                        f"{self.path}: {one} has the element type {kind}, expected {', '.join(sorted(_FLOATS))}: "
                        "give the model that is not quantized, and quantize it when it is compiled"
                    )

    def tokenizer_files(self) -> list[Path]:
        """The files of the tokenizer."""
        return [self.path / name for name in TOKENIZER_FILES if (self.path / name).is_file()]

    def _check_links(self, files: Iterable[Path]) -> None:
        """Raise `LanguageModelError` for a link to a file elsewhere: a model that was downloaded would choose which of
        the user's files are compiled or copied. The cache of Hugging Face has the content of `snapshots/REVISION` in
        `blobs`.
        """
        folder = self.path.resolve()
        allowed = folder.parents[1] if folder.parent.name == "snapshots" else folder
        for file in files:
            if not file.resolve().is_relative_to(allowed):
                raise LanguageModelError(
                    f"{file} is a link to {file.resolve()}, which is not a file of the model: copy it, or name the "
                    "folder that it is in"
                )

    def copy_tokenizer(self, target: Path) -> Path | None:
        """Copy the files of the tokenizer into a folder, which is made; `None` if the model has none.

        Raises `LanguageModelError` for a link to a file elsewhere.
        """
        files = self.tokenizer_files()
        if not files:
            return None
        self._check_links(files)
        target.mkdir(exist_ok=True)
        for file in files:
            if not (target / file.name).exists() or not os.path.samefile(file, target / file.name):
                partial = target / f".{file.name}.partial"
                shutil.copyfile(file, partial)
                partial.replace(target / file.name)
        return target


def _json(path: Path, what: str) -> dict[str, Any]:
    if path.exists() and not path.is_file():
        # A pipe or a device may have no end.
        raise LanguageModelError(f"{path}: not a regular file")
    try:
        found: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise LanguageModelError(f"{path.parent} has no {path.name}, {what}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise LanguageModelError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise LanguageModelError(f"{path}: expected an object, {what}")
    return cast("dict[str, Any]", found)


def _parts(config: dict[str, Any]) -> list[dict[str, Any]]:
    """A configuration, and those in it of the model's parts."""
    found: list[Any] = [config, config.get("text_config"), config.get("vision_config")]
    return [cast("dict[str, Any]", part) for part in found if isinstance(part, dict)]


def _check_dtypes(path: Path, config: dict[str, Any]) -> None:
    """Raise `LanguageModelError` for element types that are none: transformers ignores them."""
    for part in _parts(config):
        for key in ("dtype", "torch_dtype"):
            value: Any = part.get(key)
            # Configurations written by hand have the form that torch prints.
            if value in (None, "auto") or (
                isinstance(value, str) and value.removeprefix("torch.") in _DTYPES
            ):
                continue
            raise LanguageModelError(f"{path}: {key} is {value!r}, expected one of {', '.join(_DTYPES)}")


def _check_quantization(path: Path, config: dict[str, Any]) -> None:
    """Raise `LanguageModelError` for a method of quantization: transformers ignores one that it does not know, wants
    packages for others, or makes tensors that cannot be exported.
    """
    for part in _parts(config):
        value: Any = part.get(_QUANTIZATION)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise LanguageModelError(f"{path}: {_QUANTIZATION} is {value!r}, expected an object")
        options = cast("dict[str, Any]", value)
        method = options.get("quant_method")
        if method is None and (options.get("load_in_4bit") or options.get("load_in_8bit")):
            method = "bitsandbytes"  # as older versions of transformers wrote it
        if method in _DEQUANTIZED and options.get("dequantize") is True:
            continue
        told = (
            f"quantized by the method {method!r}" if method else "quantized by a method that it does not name"
        )
        hint = ", or set 'dequantize' in quantization_config to true" if method in _DEQUANTIZED else ""
        raise LanguageModelError(
            f"{path}: the weights are {told}, which cannot be compiled: give a model in floats, and quantize "
            "it when it is compiled; to make "
            f"one, load the folder with transformers, call its dequantize(), and save_pretrained(){hint}"
        )


@contextmanager
def _quiet() -> Generator[None]:
    """Without progress bars and messages of transformers, and without its asking a server."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers.utils import logging as bars

            bars.disable_progress_bar()
            yield
    finally:
        logging.disable(logging.NOTSET)
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
