# The networks that are compared with ONNX Runtime, as ONNX files, layer by layer as Pando's zoo
# defines them. Convolutions and normalisations are apart; the runtime fuses them when it loads.
# SPDX-License-Identifier: MIT
import dataclasses
import typing

import onnx_file


def resnet50(net):
    """Returns the name of the result."""
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
    "resnet50": Case(resnet50, 16, (3, 224, 224), 25_557_032, 8178.0),
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
