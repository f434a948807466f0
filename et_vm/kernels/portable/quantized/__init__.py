"""Quantized arithmetic: affine quantization and quantized layers."""
