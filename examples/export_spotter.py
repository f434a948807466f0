"""Save the exported keyword spotter, and sounds to calibrate with."""

import numpy as np
import torch

from examples.spotter import data, net

model, inputs = net()
torch.export.save(torch.export.export(model, inputs), "spotter.pt2")
np.savez("sounds.npz", sound=np.stack([sound.numpy() for (sound,) in data()]))
