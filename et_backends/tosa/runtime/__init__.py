"""The TOSA backend at run time: files are executed by numpy kernels, bit-exact in integers."""
