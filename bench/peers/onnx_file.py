# Writes a network as an ONNX file, in protobuf by hand: the few messages that a network for images
# needs. Weights are random, because speed does not depend on them.
# SPDX-License-Identifier: MIT
import array
import math
import random
import struct

IR_VERSION = 8
OPSET = 13
FLOAT, INT64 = 1, 7  # TensorProto.DataType


def varint(value):
    value &= (1 << 64) - 1  # negative numbers take ten bytes
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def field(number, value):
    """One field of a message: an integer, a float, or bytes, text or a message with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def attribute(name, value):
    kinds = {float: (2, 1), int: (3, 2), tuple: (8, 7)}
    number, kind = kinds[type(value)]
    data = fields(number, value) if isinstance(value, tuple) else field(number, value)
    return field(1, name) + data + field(20, kind)


def value_info(name, shape):
    dims = b"".join(field(1, field(1, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, dims)))


class Network:
    """A network under construction. Its methods append a node to the value with that name and
    return the name of the result; activations are [batch, channels, height, width]."""

    PERIOD = 4093  # of the random numbers, which repeat

    def __init__(self, shape):
        generator = random.Random(7)
        self.numbers = array.array("f", (generator.gauss(0, 1) for _ in range(self.PERIOD)))
        self.shape, self.parameters = shape, 0
        self.nodes, self.initializers, self.made = [], [], 0

    def node(self, op, inputs, **attributes):
        self.made += 1
        result = f"v{self.made}"
        self.nodes.append(fields(1, inputs) + field(2, result) + field(3, f"{op}_{self.made}") +
                          field(4, op) + fields(5, (attribute(*one) for one in attributes.items())))
        return result

    def weight(self, shape, spread=1.0, offset=0.0, trained=True):
        count = math.prod(shape)
        if trained:
            self.parameters += count
        block = array.array("f", (offset + spread * number for number in self.numbers)).tobytes()
        data = (block * (count // self.PERIOD + 1))[:4 * count]
        name = f"w{len(self.initializers)}"
        self.initializers.append(fields(1, shape) + field(2, FLOAT) + field(8, name) +
                                 field(9, data))
        return name

    def conv(self, x, channels, filters, kernel=1, stride=1, pads=None, groups=1, bias=False):
        """A convolution; `pads` are those before and after each axis."""
        before, after = pads if pads else ((kernel - 1) // 2, kernel // 2)
        taps = channels // groups * kernel * kernel
        filter = self.weight((filters, channels // groups, kernel, kernel), (2 / taps) ** 0.5)
        inputs = (x, filter, self.weight((filters,), 0.1)) if bias else (x, filter)
        return self.node("Conv", inputs, kernel_shape=(kernel, kernel),
                         strides=(stride, stride), group=groups,
                         pads=(before, before, after, after))

    def batch_norm(self, x, channels, epsilon=1.001e-5):
        gamma, beta = self.weight((channels,), 0.05, 0.5), self.weight((channels,), 0.1)
        mean = self.weight((channels,), 0.1, trained=False)
        variance = self.weight((channels,), 0.05, 1.0, trained=False)
        return self.node("BatchNormalization", (x, gamma, beta, mean, variance), epsilon=epsilon)

    def number(self, value):
        """A scalar that is not trained."""
        return self.weight((), 0.0, value, trained=False)

    def integers(self, *values):
        name = f"w{len(self.initializers)}"
        self.initializers.append(field(1, len(values)) + field(2, INT64) + field(8, name) +
                                 field(9, struct.pack(f"<{len(values)}q", *values)))
        return name

    def clip(self, x, low, high):
        return self.node("Clip", (x, self.number(low), self.number(high)))

    def max_pool(self, x, size):
        return self.node("MaxPool", (x,), kernel_shape=(size, size), strides=(size, size))

    def dense(self, x, features, units):
        weights = self.weight((features, units), features ** -0.5)
        return self.node("Gemm", (x, weights, self.weight((units,), 0.1)))

    def to_bytes(self, result, result_shape):
        graph = (fields(1, self.nodes) + field(2, "network") + fields(5, self.initializers) +
                 field(11, value_info("x", self.shape)) +
                 field(12, value_info(result, result_shape)))
        return field(1, IR_VERSION) + field(7, graph) + field(8, field(1, "") + field(2, OPSET))
