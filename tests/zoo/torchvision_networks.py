"""Writes a network of torchvision with random weights, pictures and what it answers to them.

usage: torchvision_networks.py MODEL FILE SIDE...
The HDF5 file has the state_dict in the group weights, and for each SIDE x_SIDE, pictures of so many
pixels [n, height, width, 3], and y_SIDE, the logarithms of the probabilities of the classes.
Exits with 77 if torchvision or h5py is missing.
"""
# SPDX-License-Identifier: MIT
import sys

try:
    import h5py
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

PICTURES = 2


def randomise(model):
    """Gives weights that begin as constants other values, so that each of them shows."""
    for name, weight in model.named_parameters():
        if name.endswith("layer_scale"):
            torch.nn.init.uniform_(weight, 0.3, 1.0)
        elif name.endswith("bn3.weight"):  # at the end of a branch; rounding grows over many of them
            torch.nn.init.uniform_(weight, 0.1, 0.3)
        elif weight.dim() == 1 and name.endswith("weight"):  # of normalisations
            torch.nn.init.uniform_(weight, 0.5, 1.5)
        elif weight.dim() == 1:
            torch.nn.init.uniform_(weight, -0.2, 0.2)


def shrink(model):
    """Makes one channel in eight nearly constant, so that the epsilon of its normalisation counts."""
    layers = list(model.modules())
    for conv, norm in zip(layers, layers[1:]):
        if isinstance(conv, torch.nn.Conv2d) and isinstance(norm, torch.nn.BatchNorm2d):
            conv.weight[::8] *= 2e-3


def set_statistics(model, side):
    """Moving statistics near those of real activations, so that no network explodes or fades."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    model.eval()
    for norm in norms:
        norm.momentum = 1.0
        norm.train()  # it alone: what drops values would change the statistics
    if norms:
        model(torch.randn(3, 3, side, side, dtype=torch.float64))
    model.eval()
    for norm in norms:
        deviation = norm.running_var.sqrt()
        norm.running_mean += 0.1 * deviation * torch.randn_like(deviation)
        norm.running_var *= torch.empty_like(deviation).uniform_(0.7, 1.4)


def main(name, path, sides):
    torch.manual_seed(7)
    with torch.no_grad():
        model = torchvision.models.get_model(name, weights=None).double()
        randomise(model)
        shrink(model)
        set_statistics(model, 160)
        # Both sides get the same numbers. What torchvision answers in double precision is exact,
        # compared with the tolerance.
        for value in model.state_dict().values():
            value.copy_(value.float())
        with h5py.File(path, "w") as file:
            for key, value in model.state_dict().items():
                if not key.endswith("num_batches_tracked"):
                    file[f"weights/{key}"] = value.float().numpy()
            for side in sides:
                x = torch.randn(PICTURES, 3, side, side)
                file[f"x_{side}"] = x.permute(0, 2, 3, 1).contiguous().numpy()
                file[f"y_{side}"] = torch.log_softmax(model(x.double()), 1).float().numpy()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(side) for side in sys.argv[3:]])
