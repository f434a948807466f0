"""A small convolutional classifier of scikit-learn's 8×8 handwritten digits, and its training.

Try it: `et-compile examples/digits/network.py:digits -o digits.pte` (trains first: a few seconds)
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

SEED = 0
EPOCHS = 12
BATCH = 32
SMOOTHING = 0.1
"""Of labels: the part of each that all classes share (Szegedy et al. 2016), as 1437 digits are soon learnt by heart."""


class Digits(NamedTuple):
    """Images `[N, 1, 8, 8]` f32 in [0, 1] and labels `[N]` i64, a training and a held-out part."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def dataset() -> Digits:
    """The 1797 digits that come with scikit-learn, a fifth of them held out (stratified, seeded)."""
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=SEED, stratify=labels
    )
    return Digits(*(torch.from_numpy(part) for part in (train_x, train_y, test_x, test_y)))


class DigitsNet(nn.Module):
    """Images `[N, 1, 8, 8]` f32 to logits `[N, 10]` f32: three convolutions and one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(64 * 2 * 2, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.dropout(torch.flatten(self.features(image), 1)))


@contextmanager
def one_thread() -> Generator[None]:
    """Run the body on one torch thread: in work this small, threads mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train(digits: Digits) -> DigitsNet:
    """A `DigitsNet` trained on the training part, in eval mode; seeded, the random state is given back."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        network = DigitsNet().train()
        steps = EPOCHS * -(-len(digits.train_labels) // BATCH)
        optimiser = torch.optim.AdamW(network.parameters(), weight_decay=1e-2)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=steps)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(digits.train_labels)).split(BATCH):
                logits = network(digits.train_images[batch])
                loss = nn.functional.cross_entropy(
                    logits, digits.train_labels[batch], label_smoothing=SMOOTHING
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
    return network.eval()


def digits() -> tuple[nn.Module, tuple[Tensor]]:
    """The trained network and one held-out digit `[1, 1, 8, 8]` f32."""
    data = dataset()
    return train(data), (data.test_images[:1],)
