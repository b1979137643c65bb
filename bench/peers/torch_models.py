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


def conv_norm(channels, filters, kernel=1, stride=1, groups=1, padding=None):
    """A convolution without bias and its normalisation; padding is symmetric unless given."""
    padding = (kernel - 1) // 2 if padding is None else padding
    return nn.Sequential(
        nn.Conv2d(channels, filters, kernel, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(filters, eps=BATCH_NORM_EPSILON))


class InvertedResidual(nn.Module):
    """Widens the channels, convolves each by itself and narrows them again."""

    def __init__(self, channels, widen, filters, stride):
        super().__init__()
        wide = channels * widen
        layers = [conv_norm(channels, wide), nn.ReLU6(inplace=True)] if widen > 1 else []
        self.layers = nn.Sequential(
            *layers, conv_norm(wide, wide, 3, stride, groups=wide), nn.ReLU6(inplace=True),
            conv_norm(wide, filters))
        self.adds = stride == 1 and channels == filters

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


def mobilenet_v2():
    layers, channels = [conv_norm(3, 32, 3, 2), nn.ReLU6(inplace=True)], 32
    for widen, filters, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                           (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)):
        for block in range(blocks):
            layers.append(InvertedResidual(channels, widen, filters, stride if block == 0 else 1))
            channels = filters
    return nn.Sequential(
        *layers, conv_norm(channels, 1280), nn.ReLU6(inplace=True), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and a shortcut, which is a projection in the first block."""

    def __init__(self, channels, filters, stride, projects):
        super().__init__()
        self.reduce = conv_norm(channels, filters)
        # SAME padding as in ResidualBlock.
        self.middle = conv_norm(filters, filters, 3, stride, padding=2 - stride)
        self.widen = conv_norm(filters, 4 * filters)
        self.project = conv_norm(channels, 4 * filters, stride=stride) if projects else None
        self.pads = stride == 2

    def forward(self, x):
        y = F.relu(self.reduce(x), inplace=True)
        if self.pads:
            y = F.pad(y, (0, 1, 0, 1))
        y = self.widen(F.relu(self.middle(y), inplace=True))
        return F.relu(y + (x if self.project is None else self.project(x)), inplace=True)


def resnet50():
    layers, channels = [conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True),
                        nn.MaxPool2d(3, 2, padding=1)], 64
    for stack, blocks in enumerate((3, 4, 6, 3)):
        filters = 64 << stack
        for block in range(blocks):
            stride = 2 if stack > 0 and block == 0 else 1
            layers.append(Bottleneck(channels, filters, stride, block == 0))
            channels = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, 1000))


class Unet(nn.Module):
    """Four levels down and up again; the way up takes the results of the same level along."""

    FILTERS = (64, 128, 256, 512)

    def __init__(self):
        super().__init__()
        channels = (3, *self.FILTERS)
        self.down = nn.ModuleList(self.twice(*pair) for pair in zip(channels, self.FILTERS))
        self.bottom = self.twice(512, 1024)
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(2 * filters, filters, 2, 2)
                                     for filters in self.FILTERS)
        self.up = nn.ModuleList(self.twice(2 * filters, filters) for filters in self.FILTERS)
        self.classes = nn.Conv2d(64, 2, 1)

    @staticmethod
    def twice(channels, filters):
        return nn.Sequential(conv_norm(channels, filters, 3), nn.ReLU(inplace=True),
                             conv_norm(filters, filters, 3), nn.ReLU(inplace=True))

    def forward(self, x):
        aside = []
        for level in self.down:
            aside.append(level(x))
            x = F.max_pool2d(aside[-1], 2)
        x = self.bottom(x)
        for enlarge, level, left in zip(self.enlarge[::-1], self.up[::-1], aside[::-1]):
            x = level(torch.cat((left, enlarge(x)), 1))
        return self.classes(x)


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
    per_pixel: bool = False  # a class for every pixel


CASES = {
    "mnist_cnn": Case(mnist_cnn, 64, (1, 28, 28), 34_826, 14.26, 4.88),
    "cifar10_cnn": Case(cifar10_cnn, 32, (3, 32, 32), 1_250_858, 122.68, 41.48),
    "cifar_resnet8": Case(lambda: cifar_resnet(1), 32, (3, 32, 32), 75_290, 72.55, 24.48),
    "cifar_resnet20": Case(lambda: cifar_resnet(3), 32, (3, 32, 32), 269_722, 242.42, 81.10),
    "cosmoflow": Case(cosmoflow, 1, (4, 64, 64, 64), 619_956, 2048.0, 772.3,
                      loss=F.mse_loss, classes=0, targets=4),
    "resnet50": Case(resnet50, 16, (3, 224, 224), 25_557_032, 24298.0, 8178.0, classes=1000),
    "mobilenet_v2": Case(mobilenet_v2, 16, (3, 96, 96), 3_504_872, 333.75, 112.58, classes=1000),
    "unet": Case(Unet, 4, (3, 128, 128), 31_037_698, 72_201.0, 24_086.0, classes=2,
                 per_pixel=True),
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
        if isinstance(module, (nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.Linear)):
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
        shape = (batch, *case.input_shape[1:]) if case.per_pixel else (batch,)
        return x, torch.randint(case.classes, shape, generator=generator)
    return x, torch.rand(batch, case.targets, generator=generator)
