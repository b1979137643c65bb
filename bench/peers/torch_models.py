# The networks of the comparison, written in PyTorch exactly as Pando's zoo defines them: same
# layers, same padding, same losses. `check_parameters` checks that both have as many parameters.
# SPDX-License-Identifier: MIT
import dataclasses
import typing

import torch
from torch import nn
from torch.nn import functional as F

BATCH_NORM_EPSILON = 1.001e-5


class Scale(nn.Module):
    """Multiplies by a constant."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def mnist_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))


def cifar10_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(2304, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut without weights (every 2nd pixel, channels padded)."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.stride = stride
        self.extra_channels = channels - channels_in
        # SAME padding of a strided 3x3 convolution on an even size is 0 before and 1 after,
        # which Conv2d cannot express; padding is then a separate step.
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=2 - stride, bias=False)
        self.bn1 = nn.BatchNorm2d(channels, eps=BATCH_NORM_EPSILON)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels, eps=BATCH_NORM_EPSILON)

    def forward(self, x):
        shortcut = x
        if self.stride == 2:
            shortcut = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.extra_channels))
            x = F.pad(x, (0, 1, 0, 1))
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(x)) + shortcut, inplace=True)


def cifar_resnet(blocks):
    layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False),
              nn.BatchNorm2d(16, eps=BATCH_NORM_EPSILON), nn.ReLU(inplace=True)]
    channels = 16
    for filters in (16, 32, 64):
        for block in range(blocks):
            stride = 2 if block == 0 and filters > 16 else 1
            layers.append(ResidualBlock(channels, filters, stride))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def cosmoflow():
    layers, channels = [], 4
    for i in range(5):
        filters = 16 << i
        layers += [nn.Conv3d(channels, filters, 2, padding="same"), nn.LeakyReLU(0.3),
                   nn.MaxPool3d(2)]
        channels = filters
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(2048, 128), nn.LeakyReLU(0.3),
        nn.Linear(128, 64), nn.LeakyReLU(0.3), nn.Linear(64, 4), nn.Tanh(), Scale(1.2))


@dataclasses.dataclass(frozen=True)
class Case:
    """One network of the comparison. FLOP counts cover convolutions and dense layers only. One
    multiply-add is 2 FLOP. Training is forward and both gradients, without the input gradient of
    the first layer."""
    build: typing.Callable
    batch: int
    input_shape: tuple  # channels first, without the batch
    parameters: int  # trainable
    training_mflop: float  # per sample
    inference_mflop: float  # per sample
    loss: typing.Callable = F.cross_entropy
    classes: int = 10  # 0: the labels are `targets` numbers
    targets: int = 0


CASES = {
    "mnist_cnn": Case(mnist_cnn, 64, (1, 28, 28), 34_826, 14.26, 4.88),
    "cifar10_cnn": Case(cifar10_cnn, 32, (3, 32, 32), 1_250_858, 122.68, 41.48),
    "cifar_resnet8": Case(lambda: cifar_resnet(1), 32, (3, 32, 32), 75_290, 72.55, 24.48),
    "cifar_resnet20": Case(lambda: cifar_resnet(3), 32, (3, 32, 32), 269_722, 242.42, 81.10),
    "cosmoflow": Case(cosmoflow, 1, (4, 64, 64, 64), 619_956, 2048.0, 772.3,
                      loss=F.mse_loss, classes=0, targets=4),
}


def check_parameters(name, model):
    """Requires: `model` was built by the case `name`."""
    found = sum(p.numel() for p in model.parameters())
    wanted = CASES[name].parameters
    if found != wanted:
        raise ValueError(f"{name}: expected {wanted} trainable parameters, got {found}")


def build(name):
    model = CASES[name].build()
    check_parameters(name, model)
    return model


def init_like_keras(model):
    """Glorot uniform weights and zero biases, Keras' default initialisers."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Conv3d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return model


def make_data(name, batch, seed=0):
    """One batch for the model: uniform [0, 1) inputs, uniform labels."""
    case = CASES[name]
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(batch, *case.input_shape, generator=generator)
    if case.classes:
        return x, torch.randint(case.classes, (batch,), generator=generator)
    return x, torch.rand(batch, case.targets, generator=generator)
