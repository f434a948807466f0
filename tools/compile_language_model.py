"""Language models of et-compile, `hf:FOLDER`: exported with a cache, with metadata, tokenizer beside the program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from et_tools.exit_codes import UsageError
from et_tools.loading import ProgramError, quiet_torch, told
from et_tools.messages import print_message, running_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.export import ExportedProgram

    from et_ir.language_models import Sizes

    Quantize = Callable[[Any], None]
    Exported = tuple[dict[str, ExportedProgram], int, str]

__all__ = ["MODEL_FILES", "PREFIX", "TOKENIZER_SUFFIX", "export_language_model", "is_language_model"]

PREFIX: Final = "hf:"
"""Prefix of a model folder on the command line."""
MODEL_FILES: Final = (
    *(".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt", ".pth", ".gguf"),
    *("config.json", "tokenizer.json", "special_tokens_map.json", "added_tokens.json", "vocab.json"),
    *(".model", ".txt", ".jinja", ".py", ".md"),
)
"""Ends of the names of a model's files."""
TOKENIZER_SUFFIX: Final = ".tokenizer"
"""Of the folder with the tokenizer's files, in the place of a program's suffix."""


def is_language_model(model: str) -> bool:
    """Whether a model is given as a folder of Hugging Face."""
    return model.startswith(PREFIX)


def export_language_model(
    args: argparse.Namespace, quantize: Quantize | None
) -> tuple[dict[str, ExportedProgram], dict[str, Any]]:
    """The methods of a model and its constant methods; the files of its tokenizer are copied beside the output.

    `quantize` changes the weights of a module. Raises `UsageError` for options that do not fit, `ProgramError` for a
    folder or a model that cannot be exported.
    """
    if args.model == PREFIX:
        raise UsageError(f"{PREFIX} names no folder: give {PREFIX}FOLDER")
    with quiet_torch():  # what the packages that are imported say of themselves
        from et_ir.language_models import LanguageModelError, ModelFolder, Sizes, metadata

    try:
        folder = ModelFolder(Path(args.model.removeprefix(PREFIX)))
        model = folder.load()
        sizes = _sizes(args, model, Sizes)
        if args.image_size is not None and not folder.has_images:
            raise UsageError("--image-size: the model does not take images")
        # What it refuses is told before the export, which takes minutes.
        metadata(model, context=sizes.context, chunk=sizes.chunk)
        constants: dict[str, Any] = {}
        try:
            if folder.has_images:
                programs, chunk, note, constants = _vision_model(args, model, sizes, quantize)
            else:
                export = _encoder_decoder if folder.is_encoder_decoder else _decoder
                programs, chunk, note = export(args, model, sizes, quantize)
        except (LanguageModelError, ProgramError, UsageError):
            raise
        except (
            Exception
        ) as error:  # the code of a model raises what it likes for a cache or a mask that it lacks
            raise ProgramError(
                f"{type(model).__name__} cannot be exported with a cache of fixed size: {told(error)}"
            ) from error
        constants = metadata(model, context=sizes.context, chunk=chunk) | constants
        if args.emit == "pte" and args.output not in (None, "-"):
            folder.copy_tokenizer(Path(args.output).with_suffix(TOKENIZER_SUFFIX))
    except LanguageModelError as error:
        raise ProgramError(str(error)) from error
    if note and not args.quiet:
        print_message(running_command(), f"prompts are taken one token at a time: {note}", "warning")
    if args.custom_sdpa:
        constants["use_sdpa_with_kv_cache"] = True
    return programs, constants


def _cache_options(args: argparse.Namespace) -> dict[str, bool]:
    if args.custom_sdpa and args.quantize_cache:
        raise UsageError("--custom-sdpa needs keys and values in floats: leave out --quantize-cache")
    return {
        "all_logits": args.all_logits,
        "quantize_cache": args.quantize_cache,
        "custom_attention": args.custom_sdpa,
    }


def _decoder(args: argparse.Namespace, model: Any, sizes: Sizes, quantize: Quantize | None) -> Exported:
    from et_ir.language_models import CachedDecoder, check_decoder, export_decoder
    from et_ir.targets.lookup import find_target

    by_native = any(str(one).partition(":")[0] == "native" for one in args.backend)
    decoder = CachedDecoder(model, sizes, **_cache_options(args), grouped_experts=by_native)
    check_decoder(model, decoder)
    if quantize is not None:
        quantize(decoder.model)
    with quiet_torch():
        # A runner that finds `decode` uses it, with the state of that method alone.
        found = export_decoder(decoder, sizes, shares_state=find_target(args.target).vm_kernels is not None)
    return found.programs, found.chunk, found.note


def _vision_model(
    args: argparse.Namespace, model: Any, sizes: Sizes, quantize: Quantize | None
) -> tuple[dict[str, ExportedProgram], int, str, dict[str, Any]]:
    from et_ir.language_models import (
        CachedEmbeddingDecoder,
        TokenEmbedding,
        VisionEncoder,
        check_vision_model,
        export_vision_model,
        image_metadata,
        image_size,
        least_chunk,
    )
    from et_ir.language_models import Sizes as Bounds

    encoder = VisionEncoder(model, args.image_size or image_size(model.config))
    if args.max_prefill is None:
        sizes = Bounds(sizes.context, min(max(sizes.chunk, least_chunk(encoder)), sizes.context))
    embedding = TokenEmbedding(model)
    if args.custom_sdpa:
        raise UsageError("--custom-sdpa does not apply to vision-language models")
    decoder = CachedEmbeddingDecoder(
        model, sizes, all_logits=args.all_logits, quantize_cache=args.quantize_cache
    )
    check_vision_model(encoder, embedding, decoder, sizes)
    if quantize is not None:
        quantize(model)
    with quiet_torch():
        programs = export_vision_model(encoder, embedding, decoder, sizes)
    return programs, sizes.chunk, "", image_metadata(encoder, decoder)


def _encoder_decoder(
    args: argparse.Namespace, model: Any, sizes: Sizes, quantize: Quantize | None
) -> Exported:
    import torch

    from et_ir.language_models import (
        CachedTextDecoder,
        Encoder,
        check_encoder_decoder,
        export_encoder_decoder,
    )
    from et_ir.language_models.encoder_decoder import example_source
    from et_ir.targets.lookup import find_target

    for option, is_given in (
        ("--all-logits", args.all_logits),
        ("--quantize-cache", args.quantize_cache),
        ("--custom-sdpa", args.custom_sdpa),
    ):
        if is_given:
            raise UsageError(f"{option} does not apply to encoder-decoders")
    encoder = Encoder(model)
    with torch.no_grad():
        hidden = encoder(example_source(model))
    shares_state = find_target(args.target).vm_kernels is not None
    decoder = CachedTextDecoder(model, hidden, sizes, shares_state=shares_state)
    check_encoder_decoder(model, encoder, decoder)
    if quantize is not None:
        quantize(model)
    with quiet_torch():
        return export_encoder_decoder(model, encoder, decoder, sizes), sizes.chunk, ""


def _sizes(args: argparse.Namespace, model: Any, make: Callable[..., Any]) -> Any:
    """The sizes that the options say, of a context that the model's positions allow."""
    config = model.config.get_text_config(decoder=True)
    # Decoders of speech models have names of their own for it.
    names = ("max_position_embeddings", "max_target_positions")
    longest = next((found for name in names if (found := getattr(config, name, None)) is not None), None)
    default = make()
    context = args.max_len or min(default.context, longest or default.context)
    if longest is not None and context > longest:
        raise UsageError(f"--max-len {context}: the model has {longest} positions")
    chunk = args.max_prefill or min(default.chunk, context)
    if chunk > context:
        raise UsageError(f"--max-prefill {chunk}: the context has {context} tokens")
    return make(context, chunk)
