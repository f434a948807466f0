"""Reference evaluation of ML programs (the Core ML backend) by numpy kernels.

Core ML itself, which exists only on Apple's platforms, is not involved.
"""
