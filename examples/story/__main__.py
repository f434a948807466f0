"""Train a small language model, compile it in several precisions, and let et-vm continue a text.

    python -m examples.story                        # results in build/story
    python -m examples.story --output-dir /tmp/s    # somewhere else

`make story` runs this: a Llama of 5 million parameters learns the reference manual that comes with Python, for some
minutes. Perplexity on text that it has not seen is compared with eager torch in float32, 8 bits and 4 bits; greedy text
with that of eager torch; and a session that is saved is continued in another process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from examples.artefacts import digest, keep
from examples.story import training
from examples.story.training import HELD_OUT, manual, perplexity, train

PROMPT = "The import statement"
GREEDY = 200
"""Tokens of the text that is compared with eager torch's."""
MODES = {"float32": None, "8 bits": "int8-weights", "4 bits": "8da4w:group=32"}
LONGEST = {"float32": 1e-4, "8 bits": 0.01, "4 bits": 0.05}
"""Largest relative difference of the perplexity from eager's: in either direction in floats, an increase in others."""


def compile_model(folder: Path, mode: str | None, output: Path) -> None:
    """et-compile, with logits of all tokens."""
    line = ["et-compile", f"hf:{folder}", "-o", str(output), "--target", "et-vm", "--all-logits", "-q"]
    line += ["--max-len", "512", "--max-prefill", "128"]
    line += [] if mode is None else ["--quantize", mode]
    subprocess.run([Path(sys.executable).parent / line[0], *line[1:]], check=True, stderr=subprocess.DEVNULL)


def _trained(folder: Path, steps: int) -> None:
    """Train, unless that was done by the same recipe before."""
    key = digest(Path(training.__file__), torch.__version__, str(steps))

    def make(path: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        train(folder, steps)
        path.write_text(key)
        return {}

    keep(folder / "trained", key, make)


def main(arguments: list[str] | None = None) -> int:
    """Train, compile, compare; the exit code is 1 if a comparison fails."""
    from transformers import AutoModelForCausalLM

    from et_vm.llm import GenerationConfig, LanguageModel, Session, TextLLMRunner, Tokenizer
    from et_vm.runtime import Runtime

    parser = argparse.ArgumentParser("python -m examples.story")
    parser.add_argument("--output-dir", type=Path, default=Path("build/story"), metavar="DIR")
    parser.add_argument("--steps", type=int, default=500, help="of training")
    args = parser.parse_args(arguments)
    place: Path = args.output_dir
    folder = place / "manual"
    _trained(folder, args.steps)
    eager: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = Tokenizer(folder)
    text = manual()
    ids = tokenizer.encode_rest(text[int(len(text) * (1 - HELD_OUT)) :])
    pieces = [[0, *ids[at : at + 127]] for at in range(0, min(len(ids), 127 * 16), 127)]

    def eager_logits(piece: list[int]) -> torch.Tensor:
        with torch.no_grad():
            return eager(torch.tensor([piece])).logits[0]

    expected = perplexity(eager_logits, pieces)
    print(f"\nperplexity on {sum(map(len, pieces)):,} tokens that it has not seen")
    print(f"  eager torch  {expected:.4f}")
    good = True
    for name, mode in MODES.items():
        file = place / f"manual-{name.replace(' ', '-')}.pte"
        compile_model(folder, mode, file)
        model = LanguageModel(Runtime().load_program(file))
        session = Session(model)

        def logits(piece: list[int], session: Any = session) -> torch.Tensor:
            session.reset()
            return torch.from_numpy(session.feed_all(piece))

        found = perplexity(logits, pieces)
        excess = found / expected - 1
        good &= (abs(excess) if name == "float32" else excess) <= LONGEST[name]
        print(f"  {name:11}  {found:.4f}   {excess:+.2%}   {file.stat().st_size:,} bytes")

    runner = TextLLMRunner(place / "manual-float32.pte", folder)
    config = GenerationConfig(temperature=0.0, max_new_tokens=GREEDY)
    ours = runner.generate(PROMPT, config)
    begun = torch.tensor([tokenizer.encode(PROMPT)])
    with torch.no_grad():
        told = eager.generate(
            begun,
            attention_mask=torch.ones_like(begun),
            max_new_tokens=GREEDY,
            do_sample=False,
            pad_token_id=0,
        )
    same = ours == tokenizer.decode(told[0, begun.shape[1] :].tolist())
    good &= same
    print(f"\n{PROMPT}{ours[:400]}…")
    print(f"\n{GREEDY} tokens, as eager torch: {'yes' if same else 'no'}")

    # The first half here; the rest in another process, from the session.
    runner.reset()
    half = runner.generate(PROMPT, GenerationConfig(temperature=0.0, max_new_tokens=GREEDY // 2))
    runner.session.save(place / "session.safetensors")
    line = [Path(sys.executable).parent / "et-vm", "generate", place / "manual-float32.pte", "-q"]
    line += ["--tokenizer", folder, "--session", place / "session.safetensors"]
    line += ["--max-new-tokens", str(GREEDY // 2)]
    rest = subprocess.run(line, check=True, capture_output=True, text=True).stdout.removesuffix("\n")
    same = half + rest == ours
    good &= same
    print(f"continued in another process from a saved session, the same text: {'yes' if same else 'no'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
