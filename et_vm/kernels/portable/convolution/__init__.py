"""Convolutions: dense, depthwise, transposed, and their gradients."""
