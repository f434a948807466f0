"""The Core ML backend at run time: ML programs are evaluated by numpy kernels, as a reference.

No Core ML is involved, which is there on Apple's systems only.
"""
