"""Language models of et-compile, `hf:FOLDER`: exported with a cache, with metadata, tokenizer beside the program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from et_tools.exit_codes import UsageError
from et_tools.loading import ProgramError, quiet_torch
from et_tools.messages import print_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.export import ExportedProgram

__all__ = ["PREFIX", "TOKENIZER_SUFFIX", "export_language_model", "is_language_model"]

PREFIX: Final = "hf:"
"""What the folder of a model follows on the command line."""
TOKENIZER_SUFFIX: Final = ".tokenizer"
"""Of the folder with the tokenizer's files, in the place of a program's suffix."""


def is_language_model(model: str) -> bool:
    """Whether a model is given as a folder of Hugging Face."""
    return model.startswith(PREFIX)


def export_language_model(
    args: argparse.Namespace, quantize: Callable[[Any], None] | None
) -> tuple[dict[str, ExportedProgram], dict[str, Any]]:
    """The methods of a model and its constant methods; the files of its tokenizer are copied beside the output.

    `quantize` changes the weights of a module. Raises `UsageError` for options that do not fit, `ProgramError` for a
    folder or a model that cannot be exported.
    """
    with quiet_torch():  # what the packages that are imported say of themselves
        from et_ir.language_models import (
            CachedDecoder,
            LanguageModelError,
            ModelFolder,
            Sizes,
            check_decoder,
            export_decoder,
            metadata,
        )

    try:
        folder = ModelFolder(Path(args.model.removeprefix(PREFIX)))
        model = folder.load()
        sizes = _sizes(args, model, Sizes)
        decoder = CachedDecoder(model, sizes, all_logits=args.all_logits)
        check_decoder(model, decoder)
        if quantize is not None:
            quantize(decoder.model)
        with quiet_torch():
            found = export_decoder(decoder, sizes)
    except LanguageModelError as error:
        raise ProgramError(str(error)) from error
    if found.note and not args.quiet:
        print_message("et-compile", f"prompts are taken one token at a time: {found.note}", "warning")
    if args.emit == "pte" and args.output not in (None, "-"):
        folder.copy_tokenizer(Path(args.output).with_suffix(TOKENIZER_SUFFIX))
    return found.programs, metadata(model, context=sizes.context, chunk=found.chunk)


def _sizes(args: argparse.Namespace, model: Any, make: Callable[..., Any]) -> Any:
    """The sizes that the options say, of a context that the model's positions allow."""
    config = model.config.get_text_config(decoder=True)
    longest = getattr(config, "max_position_embeddings", None)
    default = make()
    context = args.max_len or min(default.context, longest or default.context)
    if longest is not None and context > longest:
        raise UsageError(f"--max-len {context}: the model has {longest} positions")
    chunk = args.max_prefill or min(default.chunk, context)
    if chunk > context:
        raise UsageError(f"--max-prefill {chunk}: the context has {context} tokens")
    return make(context, chunk)
