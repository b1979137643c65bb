# The networks that are compared with ONNX Runtime, as ONNX files, layer by layer as Pando's zoo
# defines them. Convolutions and normalisations are apart; the runtime fuses them when it loads.
# SPDX-License-Identifier: MIT
import dataclasses
import typing

import onnx_file


def mnist_cnn(net):
    """Returns the name of the result."""
    x, channels = "x", 1
    for filters in (32, 64):
        x = net.node("Relu", (net.conv(x, channels, filters, kernel=3, pads=(0, 0), bias=True),))
        x = net.max_pool(x, 2)
        channels = filters
    return net.node("Softmax", (net.dense(net.node("Flatten", (x,)), 1600, 10),))


def cifar10_cnn(net):
    x, channels = "x", 3
    for filters in (32, 64):
        for pads in ((1, 1), (0, 0)):
            x = net.conv(x, channels, filters, kernel=3, pads=pads, bias=True)
            x = net.node("Relu", (x,))
            channels = filters
        x = net.max_pool(x, 2)
    x = net.node("Relu", (net.dense(net.node("Flatten", (x,)), 2304, 512),))
    return net.node("Softmax", (net.dense(x, 512, 10),))


def cifar_resnet(net, blocks):
    def conv_norm(x, channels, filters, **options):
        return net.batch_norm(net.conv(x, channels, filters, kernel=3, **options), filters)

    def block(x, channels, filters, stride):
        # SAME padding of a strided 3x3 convolution on an even size: nothing before, one after.
        pads = (0, 1) if stride == 2 else (1, 1)
        y = net.node("Relu", (conv_norm(x, channels, filters, stride=stride, pads=pads),))
        y = conv_norm(y, filters, filters)
        if stride == 2:  # the shortcut has no weights: every second pixel, further channels of zeros
            end = net.integers(2**31 - 1, 2**31 - 1)
            x = net.node("Slice", (x, net.integers(0, 0), end, net.integers(2, 3),
                                   net.integers(2, 2)))
            x = net.node("Pad", (x, net.integers(0, 0, 0, 0, 0, filters - channels, 0, 0)))
        return net.node("Relu", (net.node("Add", (y, x)),))

    x = net.node("Relu", (conv_norm("x", 3, 16),))
    channels = 16
    for filters in (16, 32, 64):
        for number in range(blocks):
            x = block(x, channels, filters, 2 if number == 0 and filters > 16 else 1)
            channels = filters
    x = net.node("Flatten", (net.node("GlobalAveragePool", (x,)),))
    return net.node("Softmax", (net.dense(x, 64, 10),))


def resnet50(net):
    def conv_norm(x, channels, filters, **options):
        return net.batch_norm(net.conv(x, channels, filters, **options), filters)

    def block(x, channels, filters, stride, projects):
        y = net.node("Relu", (conv_norm(x, channels, filters),))
        # SAME padding of a strided 3x3 convolution on an even size: nothing before, one after.
        pads = (0, 1) if stride == 2 else (1, 1)
        y = conv_norm(y, filters, filters, kernel=3, stride=stride, pads=pads)
        y = conv_norm(net.node("Relu", (y,)), filters, 4 * filters)
        shortcut = conv_norm(x, channels, 4 * filters, stride=stride) if projects else x
        return net.node("Relu", (net.node("Add", (shortcut, y)),))

    x = net.node("Relu", (conv_norm("x", 3, 64, kernel=7, stride=2, pads=(3, 3)),))
    x = net.node("MaxPool", (x,), kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    channels = 64
    for stack, blocks in enumerate((3, 4, 6, 3)):
        filters = 64 << stack
        for number in range(blocks):
            stride = 2 if stack > 0 and number == 0 else 1
            x = block(x, channels, filters, stride, number == 0)
            channels = 4 * filters
    x = net.node("Flatten", (net.node("GlobalAveragePool", (x,)),))
    return net.node("Softmax", (net.dense(x, channels, 1000),))


def mobilenet_v2(net):
    def conv_norm(x, channels, filters, active=True, **options):
        y = net.batch_norm(net.conv(x, channels, filters, **options), filters)
        return net.clip(y, 0.0, 6.0) if active else y

    def block(x, channels, widen, filters, stride):
        wide = channels * widen
        y = conv_norm(x, channels, wide) if widen > 1 else x
        y = conv_norm(y, wide, wide, kernel=3, stride=stride, pads=(1, 1), groups=wide)
        y = conv_norm(y, wide, filters, active=False)
        return net.node("Add", (x, y)) if stride == 1 and channels == filters else y

    x, channels = conv_norm("x", 3, 32, kernel=3, stride=2, pads=(1, 1)), 32
    for widen, filters, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                           (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)):
        for number in range(blocks):
            x = block(x, channels, widen, filters, stride if number == 0 else 1)
            channels = filters
    x = conv_norm(x, channels, 1280)
    x = net.node("Flatten", (net.node("GlobalAveragePool", (x,)),))
    return net.node("Softmax", (net.dense(x, 1280, 1000),))


def efficientnet_b0(net):
    def swish(x):
        return net.node("Mul", (x, net.node("Sigmoid", (x,))))

    def conv_norm(x, channels, filters, active=True, **options):
        y = net.batch_norm(net.conv(x, channels, filters, **options), filters)
        return swish(y) if active else y

    def weigh_channels(x, channels, fewer):
        s = net.node("GlobalAveragePool", (x,))
        s = swish(net.conv(s, channels, fewer, bias=True))
        s = net.node("Sigmoid", (net.conv(s, fewer, channels, bias=True),))
        return net.node("Mul", (x, s))

    def block(x, channels, widen, kernel, filters, stride):
        wide, pad = channels * widen, kernel // 2
        y = conv_norm(x, channels, wide) if widen > 1 else x
        y = conv_norm(y, wide, wide, kernel=kernel, stride=stride, pads=(pad, pad), groups=wide)
        y = conv_norm(weigh_channels(y, wide, channels // 4), wide, filters, active=False)
        return net.node("Add", (x, y)) if stride == 1 and channels == filters else y

    x, channels = conv_norm("x", 3, 32, kernel=3, stride=2, pads=(1, 1)), 32
    for widen, kernel, filters, blocks, stride in (
            (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2),
            (6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)):
        for number in range(blocks):
            x = block(x, channels, widen, kernel, filters, stride if number == 0 else 1)
            channels = filters
    x = conv_norm(x, channels, 1280)
    x = net.node("Flatten", (net.node("GlobalAveragePool", (x,)),))
    return net.node("Softmax", (net.dense(x, 1280, 1000),))


@dataclasses.dataclass(frozen=True)
class Case:
    """One network. FLOP counts cover convolutions and dense layers; one multiply-add is 2 FLOP."""
    build: typing.Callable
    batch: int
    input_shape: tuple  # channels first, without the batch
    parameters: int  # trainable
    inference_mflop: float  # per sample
    classes: int = 1000


CASES = {
    "mnist_cnn": Case(mnist_cnn, 64, (1, 28, 28), 34_826, 4.88, 10),
    "cifar10_cnn": Case(cifar10_cnn, 32, (3, 32, 32), 1_250_858, 41.48, 10),
    "cifar_resnet8": Case(lambda net: cifar_resnet(net, 1), 32, (3, 32, 32), 75_290, 24.48, 10),
    "cifar_resnet20": Case(lambda net: cifar_resnet(net, 3), 32, (3, 32, 32), 269_722, 81.10, 10),
    "resnet50": Case(resnet50, 16, (3, 224, 224), 25_557_032, 8178.0),
    "mobilenet_v2": Case(mobilenet_v2, 16, (3, 224, 224), 3_504_872, 601.5),
    "efficientnet_b0": Case(efficientnet_b0, 16, (3, 224, 224), 5_288_548, 771.6),
}


def build(name, batch):
    """The network with random weights, and the name of its result."""
    case = CASES[name]
    net = onnx_file.Network((batch, *case.input_shape))
    result = case.build(net)
    if net.parameters != case.parameters:
        raise ValueError(f"{name}: expected {case.parameters} trainable parameters, got "
                         f"{net.parameters}")
    return net, result


def write(name, batch, path):
    """Writes the network as an ONNX file."""
    net, result = build(name, batch)
    path.write_bytes(net.to_bytes(result, (batch, CASES[name].classes)))
