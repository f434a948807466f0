"""Runtime for microcontrollers: C sources with the kernels that programs use."""
