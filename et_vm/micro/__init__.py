"""Programs on microcontrollers: the sources of a runtime in C, with the kernels that programs use."""
