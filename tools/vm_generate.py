"""`et-vm generate`: continue a text with a language model."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from et_tools.exit_codes import ExitCode, UsageError
from et_tools.interruption import Interruption
from et_tools.messages import print_message
from et_tools.output import check_output, is_same_file
from et_tools.streams import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from et_vm.llm import Constraint, Draft, GenerationConfig, Stats, TextLLMRunner

__all__ = ["generate_text"]


def generate_text(args: argparse.Namespace) -> ExitCode:
    """Generate as the command line says, streaming the text; numbers go to standard error. Returns the exit code.

    The first Ctrl-C ends the text, or the conversation, after the current token; the session is saved then as well.
    Raises UsageError for options that do not fit, and what loading and generating raise.
    """
    from et_vm.llm import GenerationConfig

    if args.chat and args.prompt is not None:
        raise UsageError("--chat reads messages from standard input: leave out --prompt")
    if not args.chat and args.prompt is None and args.session is None and args.audio is None:
        raise UsageError("no prompt: give --prompt TEXT ('-': standard input), --audio FILE or --chat")
    _check_audio(args)
    if args.file == "-" and (args.chat or args.prompt == "-"):
        raise UsageError("standard input is the program: give --prompt TEXT")
    tokenizer = _tokenizer(args)
    if args.save_session is not None:
        _check_session(args, tokenizer)
    runner = _runner(args, tokenizer)
    if args.chat and runner.model.encoder is not None:
        raise UsageError("--chat is for models that continue texts, not for encoder-decoders")
    config = GenerationConfig(
        echo=args.echo,
        max_new_tokens=-1 if args.max_new_tokens is None else args.max_new_tokens,
        temperature=args.temperature,
        top_p=args.top_p,
        top_k=args.top_k,
        seed=args.seed,
        constraint=_constraint(args),
        language=args.language,
        task=args.task,
    )
    for option, is_given in (("--top-p", 0 < args.top_p < 1), ("--top-k", args.top_k)):
        if is_given and not args.temperature:
            raise UsageError(f"{option} has no effect on greedy text: give --temperature, such as 0.8")
    draft = _draft(args)
    if args.session is not None:
        if not Path(args.session).exists():
            raise UsageError(f"--session {args.session}: no such file; --save-session writes one")
        runner.session.restore(args.session)
    prompt = _standard_input().read() if args.prompt == "-" else args.prompt or ""
    with Interruption(runner.stop) as interruption:
        if args.chat:
            _chat(runner, config, args, draft, interruption)
        else:
            _generate(runner, prompt, config, args, draft, interruption, args.image, args.audio)
        sys.stdout.flush()  # which may wait for a reader
        if interruption.is_requested:
            print("et-vm: interrupted", file=sys.stderr)
    if args.save_session is not None:
        runner.session.save(args.save_session)
    return ExitCode.INTERRUPTED if interruption.is_requested else ExitCode.OK


def _check_audio(args: argparse.Namespace) -> None:
    """Raise UsageError for options that do not fit audio, or apply to it alone."""
    if args.audio is None:
        for option, value in (("--language", args.language), ("--task", args.task)):
            if value is not None:
                raise UsageError(f"{option} applies to --audio only")
        return
    for option, is_given in (("--image", args.image), ("--chat", args.chat), ("--session", args.session)):
        if is_given:
            raise UsageError(f"--audio and {option} cannot be combined: a transcription is a text of its own")


def _tokenizer(args: argparse.Namespace) -> Path:
    """The file or folder of the tokenizer, by default beside the program."""
    if args.tokenizer is not None:
        return Path(args.tokenizer)
    if args.file == "-":
        raise UsageError("no tokenizer: give --tokenizer FOLDER")
    if not args.file:
        raise UsageError("no file: its name is empty")
    if not Path(args.file).name:
        raise UsageError(f"{args.file}: is no file")
    beside = Path(args.file).with_suffix(".tokenizer")
    if not beside.is_dir():
        _check_program(args)
        raise UsageError(f"no tokenizer: give --tokenizer FOLDER (there is no {beside})")
    return beside


def _check_program(args: argparse.Namespace) -> None:
    """Raise what loading a file raises that is no program of a language model: a tokenizer would be of no use."""
    from et_vm.llm import LanguageModel
    from et_vm.runtime import Runtime

    LanguageModel(
        Runtime().load_program(args.file, data_path=args.data, kernels=args.kernels, allow_native=args.native)
    )


def _check_session(args: argparse.Namespace, tokenizer: Path) -> None:
    """Raise UsageError if the session cannot be saved where it is to be, or another input is there."""
    from et_vm.llm.session import is_session

    if args.save_session == "-":
        raise UsageError("--save-session -: sessions are saved to files, not to standard output")
    check_output(args.save_session)
    inputs = [args.file, args.data, args.draft, args.json_schema, args.audio, *args.image]
    beside = [str(tokenizer), *(str(one) for one in tokenizer.glob("*"))]
    # A session of before may be saved again, also in the folder of a tokenizer.
    is_other = any(is_same_file(args.save_session, one) for one in beside) and not is_session(
        args.save_session
    )
    if is_other or any(is_same_file(args.save_session, one) for one in inputs):
        raise UsageError(f"--save-session {args.save_session} would overwrite an input")


def _runner(args: argparse.Namespace, tokenizer: Path) -> TextLLMRunner:
    from et_vm.llm import TextLLMRunner

    return TextLLMRunner(
        sys.stdin.buffer.read() if args.file == "-" else args.file,
        tokenizer,
        args.data,
        any_data=args.any_data,
        kernels=args.kernels,
        allow_native=args.native,
        threads=args.threads,
    )


def _constraint(args: argparse.Namespace) -> Constraint | None:
    from et_vm.llm import Constraint

    if args.regex is not None and args.json_schema is not None:
        raise UsageError("--regex and --json-schema are two constraints: give one")
    if args.regex is not None:
        return Constraint(args.regex)
    if args.json_schema is None:
        return None
    try:
        return Constraint.of_schema(Path(args.json_schema).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--json-schema {args.json_schema}: {error}") from None


def _draft(args: argparse.Namespace) -> Draft | None:
    from et_schema.errors import ExecutorchError
    from et_vm.llm import Draft, LanguageModel
    from et_vm.runtime import Runtime

    if args.draft is None:
        return None
    if args.temperature:
        raise UsageError("--draft applies to greedy text: leave out --temperature")
    if args.regex is not None or args.json_schema is not None:
        raise UsageError("--draft applies to text without constraints")
    try:
        program = Runtime(threads=args.threads).load_program(
            args.draft, kernels=args.kernels, allow_native=args.native
        )
        return Draft(LanguageModel(program))
    except ExecutorchError as error:
        # The message names the model otherwise.
        error.where = f"--draft {args.draft}" + (f", {error.where}" if error.where else "")
        raise


def _generate(
    runner: TextLLMRunner,
    prompt: str,
    config: GenerationConfig,
    args: argparse.Namespace,
    draft: Draft | None,
    interruption: Interruption,
    images: Sequence[str] = (),
    audio: str | None = None,
) -> str:
    """Generate, print and return what follows a prompt, or what is said in audio."""
    found: list[Stats] = []

    def give(piece: str) -> None:
        if not args.json:
            _print_piece(piece)
        if interruption.is_requested:  # perhaps before the generation began, which forgets that
            runner.stop()

    text = runner.generate(prompt, config, give, found.append, draft, images, audio)
    (stats,) = found
    if not args.json:
        print(flush=True)  # messages begin on a line of their own
    if stats.is_match is False and not args.quiet:
        option = "--regex" if args.regex is not None else "--json-schema"
        if interruption.is_requested:
            reason = "interrupted"
        elif runner.session.room == 0:
            reason = "the context is full"
        else:
            reason = f"after --max-new-tokens {stats.num_generated_tokens}"
        print_message("et-vm", f"the text ends before it matches {option}: {reason}", "warning")
    if args.json:
        record: dict[str, Any] = {"prompt": prompt, "text": text}
        record |= json.loads(stats.to_json_string())
        record["prompt_tokens_per_second"] = stats.prompt_tokens_per_second
        record["generated_tokens_per_second"] = stats.generated_tokens_per_second
        record["peak_memory_bytes"] = _peak_memory()
        print(json.dumps(record))
        return text
    if not args.quiet:
        accepted = ""
        if draft is not None:
            accepted = f", {stats.num_accepted_tokens} of {stats.num_draft_tokens} proposed ones accepted"
        print(
            f"prompt {stats.num_prompt_tokens} tokens, {stats.prompt_tokens_per_second:.1f} tokens/s; "
            f"generated {stats.num_generated_tokens}, {stats.generated_tokens_per_second:.1f} tokens/s{accepted}; "
            f"memory {_peak_memory() / 1e6:.0f} MB at most",
            file=sys.stderr,
        )
    return text


def _chat(
    runner: TextLLMRunner,
    config: GenerationConfig,
    args: argparse.Namespace,
    draft: Draft | None,
    interruption: Interruption,
) -> None:
    """A conversation: a line is a message, each answer ends where the model ends it."""
    from dataclasses import replace

    from et_schema.errors import InputError

    config = replace(config, echo=False, add_special_tokens=False)
    messages: list[dict[str, str]] = []
    shown = ""
    images: Sequence[str] = args.image
    stream = _standard_input()
    is_typed = stream.isatty() and sys.stderr.isatty()
    if is_typed and not args.quiet:
        print("One message per line; Ctrl-D ends the conversation.", file=sys.stderr)
    while line := _message(stream, interruption, is_typed=is_typed):
        messages.append({"role": "user", "content": line.rstrip("\n")})
        prompt = runner.tokenizer.chat(messages)
        # What the template adds to the conversation so far; it may rewrite that.
        if not prompt.startswith(shown) or not runner.session.tokens:
            runner.reset()
            shown = ""
        try:
            answer = _generate(runner, prompt.removeprefix(shown), config, args, draft, interruption, images)
        except InputError as error:
            if not args.quiet:
                print_message("et-vm", f"the conversation ends here: {error.message}", "warning")
            return
        images = ()
        shown = prompt + answer
        messages.append({"role": "assistant", "content": answer})


def _message(stream: TextIO, interruption: Interruption, *, is_typed: bool) -> str:
    """The next message of a conversation, after a prompt if it `is_typed`; the empty string at the end of the stream
    and when Ctrl-C comes. Empty lines are no messages.
    """
    while True:
        if is_typed:
            print("> ", end="", file=sys.stderr, flush=True)
        line = interruption.read_line(stream)
        if line.strip():
            return line
        if not line:
            if is_typed:
                print(file=sys.stderr)
            return ""


def _standard_input() -> TextIO:
    """Standard input; bytes that are no text become lone surrogates, which tokenizers reject."""
    stream: Any = sys.stdin
    if stream.errors == "strict":
        stream.reconfigure(errors="surrogateescape")
    return stream


def _print_piece(piece: str) -> None:
    stream = content(sys.stdout)
    stream.write(piece)
    stream.flush()


def _peak_memory() -> int:
    """The most bytes of memory that the process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
