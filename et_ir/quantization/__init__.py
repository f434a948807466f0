"""Quantization of PyTorch modules before they are exported: quantizers for torchao's PT2E flow, and modes by name.

Needs `torchao`. The quantizer has the name and methods of ExecuTorch's, so that code for that works with this one:

```python
from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
prepared(*calibration)
program = torch.export.export(convert_pt2e(prepared), inputs)
```
"""

# Before the modules that import torchao.
import et_ir.quantization.quiet_torchao  # noqa: F401  # pyright: ignore[reportUnusedImport]
from et_ir.quantization.config import QuantizationConfig, get_symmetric_quantization_config
from et_ir.quantization.flow import quantize
from et_ir.quantization.layers import Layer
from et_ir.quantization.modes import QuantizationError, QuantizationMode
from et_ir.quantization.quantizer import Unquantized, XNNPACKQuantizer
from et_ir.quantization.results import QuantizedModule
from et_ir.quantization.search import AccuracySearch, Trial, quantize_to_accuracy
from et_ir.quantization.sensitivity import QuantizedOperator, Remedy

__all__ = [
    "AccuracySearch",
    "Layer",
    "QuantizationConfig",
    "QuantizationError",
    "QuantizationMode",
    "QuantizedModule",
    "QuantizedOperator",
    "Remedy",
    "Trial",
    "Unquantized",
    "XNNPACKQuantizer",
    "get_symmetric_quantization_config",
    "quantize",
    "quantize_to_accuracy",
]
