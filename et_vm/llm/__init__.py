"""Text generation with programs of language models, as `et-compile hf:FOLDER` makes them.

Needs the package `tokenizers`, of the extra `llm`.

```python
from et_vm.llm import GenerationConfig, TextLLMRunner

runner = TextLLMRunner("model.pte", "model.tokenizer")
runner.generate("Once upon a time", GenerationConfig(max_new_tokens=64), print)
```
"""

from et_vm.llm.constraint import Constraint
from et_vm.llm.model import LanguageModel
from et_vm.llm.runner import GenerationConfig, TextLLMRunner
from et_vm.llm.sampling import Sampler
from et_vm.llm.session import Session
from et_vm.llm.speculation import Draft
from et_vm.llm.stats import Stats
from et_vm.llm.text import TextStream, Tokenizer

__all__ = [
    "Constraint",
    "Draft",
    "GenerationConfig",
    "LanguageModel",
    "Sampler",
    "Session",
    "Stats",
    "TextLLMRunner",
    "TextStream",
    "Tokenizer",
]


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name, __all__)
