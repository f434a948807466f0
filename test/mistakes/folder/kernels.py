"""The kernel of tune::loud for et-vm."""

import numpy as np

from et_vm import kernel


@kernel("tune::loud.out", shape=lambda x: x.shape)
def loud_out(x, *, out):
    np.multiply(x, 2, out=out)
