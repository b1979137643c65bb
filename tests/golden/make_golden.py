#!/usr/bin/python3
"""Writes the golden files of this folder: gradients and two SGD steps of small networks.

PyTorch computes in double precision from inputs and weights that float32 holds exactly. Layouts are
Pando's canonical ones: channels-last activations, kernels [spatial..., in, out], dense [in, out].
A tensor is {"shape": [...], "dtype": "f32"|"i32", "data": [...]}; a number has the digits (at most
nine) that give the same float32 again. Run without arguments; it writes the same files each time.
"""
# SPDX-License-Identifier: MIT
import json
import pathlib

import numpy
import torch
from torch.nn import functional as F

LEARNING_RATE = 0.1
MOMENTUM = 0.9
BN_EPSILON = GN_EPSILON = 1e-3
BN_MOMENTUM = 0.9  # moving = 0.9 * moving + 0.1 * batch
LEAKY_SLOPE = 0.3
ROUNDING_NOISE = 1e-12


class Draw:
    """Reproducible numbers with few digits, held exactly by float32."""

    def __init__(self, seed):
        self.generator = numpy.random.RandomState(seed)

    def uniform(self, *shape, low=-1.0, high=1.0):
        values = self.generator.uniform(low, high, shape).round(4).astype(numpy.float32)
        return torch.from_numpy(values.astype(numpy.float64))


def to_channels_first(x):
    return x.movedim(-1, 1)


def to_channels_last(x):
    return x.movedim(1, -1)


def same_padding(sizes, kernel, stride):
    """Padding for torch's F.pad (last dimension first), the smaller half before."""
    pads = []
    for size in reversed(sizes):
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        pads += [total // 2, total - total // 2]
    return pads


def conv(x, kernel, bias=None, stride=1):
    """SAME convolution, 2-D or 3-D by the rank of the kernel."""
    rank = kernel.dim() - 2
    size = kernel.shape[0]
    x = to_channels_first(x)
    x = F.pad(x, same_padding(x.shape[2:], size, stride))
    weight = kernel.movedim((-1, -2), (0, 1))
    return to_channels_last((F.conv2d if rank == 2 else F.conv3d)(x, weight, bias, stride))


def pool(function, x, **options):
    return to_channels_last(function(to_channels_first(x), 2, **options))


def batch_norm(x, gamma, beta, moving, training):
    axes = tuple(range(x.dim() - 1))
    mean, variance = moving["bn/moving_mean"], moving["bn/moving_variance"]
    if training:
        count = x.numel() // x.shape[-1]
        mean, variance = x.mean(axes), x.var(axes, unbiased=False)
        batch = {"bn/moving_mean": mean, "bn/moving_variance": variance * count / (count - 1)}
        for name, value in batch.items():
            moving[name] = BN_MOMENTUM * moving[name] + (1 - BN_MOMENTUM) * value.detach()
    return (x - mean) / (variance + BN_EPSILON).sqrt() * gamma + beta


def group_norm(x, gamma, beta, groups):
    return to_channels_last(F.group_norm(to_channels_first(x), groups, gamma, beta, GN_EPSILON))


def leaky_relu(x):
    return F.leaky_relu(x, LEAKY_SLOPE)


def conv_bn_dense():
    draw = Draw(1)
    weights = {"conv/kernel": draw.uniform(3, 3, 3, 4, low=-0.5, high=0.5),
               "conv/bias": draw.uniform(4), "bn/gamma": draw.uniform(4, low=0.5, high=1.5),
               "bn/beta": draw.uniform(4, low=-0.5, high=0.5),
               "dense/kernel": draw.uniform(16, 5, low=-0.7, high=0.7),
               "dense/bias": draw.uniform(5, low=-0.2, high=0.2)}
    x, labels = draw.uniform(3, 9, 8, 3), torch.tensor([3, 0, 4])
    moving = {"bn/moving_mean": torch.zeros(4, dtype=torch.float64),
              "bn/moving_variance": torch.ones(4, dtype=torch.float64)}

    def forward(x, w, training):
        y = conv(x, w["conv/kernel"], w["conv/bias"], stride=2)
        y = F.relu(batch_norm(y, w["bn/gamma"], w["bn/beta"], moving, training))
        y = pool(F.max_pool2d, y).flatten(1)
        return F.softmax(y @ w["dense/kernel"] + w["dense/bias"], 1)

    return {"description": "conv2d 3x3 same stride 2 -> batch norm -> relu -> max pool 2 -> "
                           "flatten -> dense -> softmax; mean sparse cross-entropy",
            "x": x, "labels": labels, "weights": weights, "moving": moving, "forward": forward,
            "loss": lambda y: -y[torch.arange(3), labels].log().mean()}


def residual_group_norm():
    draw = Draw(2)
    weights = {"conv1/kernel": draw.uniform(3, 3, 4, 6, low=-0.4, high=0.4),
               "gn1/gamma": draw.uniform(6, low=0.5, high=1.5), "gn1/beta": draw.uniform(6),
               "conv2/kernel": draw.uniform(3, 3, 6, 6, low=-0.4, high=0.4),
               "conv2/bias": draw.uniform(6),
               "gn2/gamma": draw.uniform(6, low=0.5, high=1.5), "gn2/beta": draw.uniform(6),
               "dense/kernel": draw.uniform(6, 3), "dense/bias": draw.uniform(3)}
    x, labels = draw.uniform(2, 6, 7, 4), draw.uniform(2, 3)

    def forward(x, w, training):
        y = conv(x, w["conv1/kernel"])
        y = shortcut = leaky_relu(group_norm(y, w["gn1/gamma"], w["gn1/beta"], 2))
        y = group_norm(conv(y, w["conv2/kernel"], w["conv2/bias"]), w["gn2/gamma"],
                       w["gn2/beta"], 3)
        y = leaky_relu(y + shortcut)
        y = pool(F.avg_pool2d, y, ceil_mode=True, count_include_pad=False)
        return y.mean((1, 2)) @ w["dense/kernel"] + w["dense/bias"]

    return {"description": "conv2d 3x3 same -> group norm (2 groups) -> leaky relu = s; "
                           "s -> conv2d 3x3 same, bias -> group norm (3 groups) -> add s -> "
                           "leaky relu -> average pool 2 same (padding not counted) -> "
                           "global average pool -> dense; mean squared error",
            "x": x, "labels": labels, "weights": weights, "moving": {}, "forward": forward,
            "loss": lambda y: F.mse_loss(y, labels)}


def conv3d_tanh():
    draw = Draw(3)
    weights = {"conv/kernel": draw.uniform(2, 2, 2, 2, 3, low=-0.5, high=0.5),
               "conv/bias": draw.uniform(3), "dense/kernel": draw.uniform(36, 2),
               "dense/bias": draw.uniform(2)}
    x, labels = draw.uniform(2, 5, 4, 6, 2), draw.uniform(2, 2)

    def forward(x, w, training):
        y = conv(x, w["conv/kernel"], w["conv/bias"]).tanh()
        y = pool(F.max_pool3d, y).flatten(1)
        return (y @ w["dense/kernel"] + w["dense/bias"]).tanh() * 1.2

    return {"description": "conv3d 2x2x2 same, bias -> tanh -> max pool 2 -> flatten -> dense -> "
                           "tanh -> times 1.2; mean squared error",
            "x": x, "labels": labels, "weights": weights, "moving": {}, "forward": forward,
            "loss": lambda y: F.mse_loss(y, labels)}


def tensor(value):
    if value.dtype == torch.int64:
        return {"shape": list(value.shape), "dtype": "i32", "data": value.tolist()}
    data = value.detach().flatten().numpy()
    # A bias before batch norm has no gradient; what is left of the sums depends on their order.
    data = numpy.where(abs(data) < ROUNDING_NOISE, 0.0, data).astype(numpy.float32)
    return {"shape": list(value.shape), "dtype": "f32",
            "data": [float(str(number)) for number in data]}


def tensors(values):
    return {name: tensor(value) for name, value in values.items()}


def step(network, weights, velocity):
    """One weight update in place; returns loss, output and gradients before it."""
    x = network["x"].clone().requires_grad_()
    leaves = {name: value.requires_grad_() for name, value in weights.items()}
    output = network["forward"](x, leaves, True)
    loss = network["loss"](output)
    loss.backward()
    gradients = {name: value.grad.clone() for name, value in leaves.items()}
    for name, value in leaves.items():
        velocity[name] = MOMENTUM * velocity.get(name, 0.0) - LEARNING_RATE * value.grad
        weights[name] = (value + velocity[name]).detach()
    return {"loss": float(str(numpy.float32(loss.item()))), "output": tensor(output),
            "gradients": tensors({"x": x.grad, **gradients}),
            "weights_after": tensors(weights), "moving_after": tensors(network["moving"])}


def golden(network):
    weights = {name: value.clone() for name, value in network["weights"].items()}
    velocity = {}
    result = {"description": network["description"],
              "attributes": {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM,
                             "leaky_slope": LEAKY_SLOPE, "bn_epsilon": BN_EPSILON,
                             "bn_momentum": BN_MOMENTUM, "gn_epsilon": GN_EPSILON},
              "inputs": tensors({"x": network["x"], "labels": network["labels"]}),
              "weights": tensors(weights), "moving": tensors(network["moving"])}
    result["steps"] = [step(network, weights, velocity) for _ in range(2)]
    del result["steps"][1]["gradients"]  # the weights after the step follow from them
    result["inference_after"] = tensor(network["forward"](network["x"], weights, False))
    return result


def main():
    folder = pathlib.Path(__file__).resolve().parent
    for make in (conv_bn_dense, residual_group_norm, conv3d_tanh):
        text = json.dumps(golden(make()), separators=(",", ":"))
        # One tensor per line: short enough to read a difference, long enough to stay small.
        text = text.replace('},"', '},\n"') + '\n'
        (folder / f"{make.__name__}.json").write_text(text)


if __name__ == "__main__":
    main()
