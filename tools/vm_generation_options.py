"""Options of `et-vm generate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from et_schema.whole_numbers import shortened
from et_tools.arguments import ANY_DATA, CommandParser, also_called, natural_number, positive_number

__all__ = ["add_generation_options"]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number") from None


def add_generation_options(parser: CommandParser, libraries: Sequence[str]) -> None:
    """Add what says which text is generated, and how; kernels are from one of `libraries`."""
    add = parser.add_argument
    add(
        "--tokenizer",
        metavar="PATH",
        help="tokenizer.json, or its folder (default: FILE with the suffix .tokenizer)",
    )
    add("--prompt", metavar="TEXT", help="the text to continue; '-' is standard input")
    add(
        "--image",
        action="append",
        default=[],
        metavar="FILE",
        help="an image, inserted at the image token in the prompt, or before the prompt if there is none; repeatable",
    )
    add(
        "--audio",
        metavar="FILE",
        help="a WAV file to be transcribed by a speech model; --prompt is then the text spoken before it",
    )
    add(
        "--language",
        metavar="CODE",
        help="language of the audio, as en (default: the model's, or as it detects)",
    )
    add("--task", choices=("transcribe", "translate"), help="what to do with audio (default: the model's)")
    add("--chat", action="store_true", help="hold a conversation, formatted by the tokenizer's chat template")
    most = add(
        "--max-new-tokens", type=positive_number, metavar="N", help="default: as many as the context holds"
    )
    also_called(most, "tokens", "max-length", "max-len", "seq-len", "n-predict", "num-tokens", "length")
    temperature = add(
        "--temperature",
        type=_number,
        default=0.0,
        metavar="T",
        help="sampling temperature; 0 (default) is greedy decoding",
    )
    also_called(temperature, "temp")
    add(
        "--top-p",
        type=_number,
        default=1.0,
        metavar="P",
        help="sample from the smallest set of most likely tokens whose probabilities add up to P",
    )
    add("--top-k", type=natural_number, default=0, metavar="K", help="sample from the K most likely tokens")
    add("--seed", type=natural_number, metavar="N", help="seed of the sampling, for reproducible text")
    add("--regex", metavar="EXPRESSION", help="generate text that matches this regular expression")
    add("--json-schema", metavar="FILE", help="generate JSON that matches this schema")
    add("--draft", metavar="FILE", help="smaller model that proposes tokens (speculative decoding)")
    add("--session", metavar="FILE", help="continue a saved session")
    add("--save-session", metavar="FILE", help="save the session at the end (.safetensors)")
    add("--echo", action="store_true", help="also print the prompt")
    add("--data", metavar="FILE", help="data file (.ptd) with external tensors")
    add("--any-data", **ANY_DATA)
    add("--kernels", choices=libraries, default="portable", help="default: portable")
    add("--json", action="store_true", help="print the text and statistics as JSON")
    add("-q", "--quiet", action="store_true", help="do not print statistics")
