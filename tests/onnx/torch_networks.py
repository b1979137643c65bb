"""Writes networks of PyTorch as ONNX files, with inputs and the results that PyTorch computes.
Usage: torch_networks.py FOLDER [NAME...]; without names, all small ones. Each network becomes
NAME.onnx, NAME.in and NAME.out (32-bit floats in the order of the file). Exits with 77 if PyTorch or
torchvision is missing."""
import pathlib
import sys
import warnings

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)
from torch import nn

warnings.filterwarnings("ignore")


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8, bias=False)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=2)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return torch.cat([x + torch.nn.functional.hardswish(self.depthwise(x)),
                          torch.clamp(self.grouped(x), 0, 6)], dim=1)


class Shapes(nn.Module):
    """Chains of shapes that exporters leave, and a flattening that mixes pixels and channels."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.dense = nn.Linear(4 * 6 * 10, 7)

    def forward(self, x):
        x = torch.sigmoid(self.conv(x))
        return torch.softmax(self.dense(x.view(x.size(0), -1)), dim=1)


class Channels(nn.Module):
    """A weight per channel, means over pixels, and a transposition that comes back."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(6, 1, 1) + 0.5)
        self.conv = nn.Conv2d(3, 6, 1)
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        x = self.conv(x) * self.scale
        x = self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return x * x.mean(dim=(2, 3), keepdim=True) - 0.25


class Enlarge(nn.Module):
    def __init__(self, mode, align):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode=mode, align_corners=align)
        self.transposed = nn.ConvTranspose2d(4, 5, 3, stride=2, padding=1, output_padding=1)
        self.conv = nn.Conv2d(3, 4, 3)
        self.slopes = nn.PReLU(5)

    def forward(self, x):
        return self.slopes(self.transposed(self.up(self.conv(x))))


SMALL = {
    "residual": (Residual, (2, 3, 17, 12)),
    "shapes": (Shapes, (2, 3, 6, 10)),
    "channels": (Channels, (2, 3, 5, 4)),
    "nearest": (lambda: Enlarge("nearest", None), (1, 3, 7, 6)),
    "bilinear": (lambda: Enlarge("bilinear", False), (1, 3, 7, 6)),
    "corners": (lambda: Enlarge("bilinear", True), (1, 3, 7, 6)),
    "pools": (lambda: nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(2, padding=1),
                                    nn.LeakyReLU(0.2), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
                                    nn.Linear(3, 4), nn.Tanh()), (2, 3, 14, 11)),
    "line": (lambda: nn.Sequential(nn.Conv1d(2, 4, 5, stride=2, padding=2), nn.ELU(), nn.MaxPool1d(2),
                                   nn.Flatten(), nn.Linear(4 * 4, 3)), (2, 2, 16)),
    "volume": (lambda: nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU(),
                                     nn.MaxPool3d(2)), (1, 2, 6, 6, 4)),
    "shuffle": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PixelShuffle(2),
                                      nn.InstanceNorm2d(2, affine=True), nn.Softplus()),
                (1, 3, 6, 5)),
}
SIDES = {"alexnet": 224, "inception_v3": 299, "vgg16": 224}
OPSETS = {"channels": 17}  # the first that has LayerNormalization


def network_of(name):
    if name in SMALL:
        make, shape = SMALL[name]
        return make(), shape
    side = SIDES.get(name, 96)  # the pooling of some needs their own size
    return getattr(torchvision.models, name)(weights=None), (2, 3, side, side)


def randomise(network):
    """Statistics and weights that hide nothing."""
    for module in network.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.BatchNorm3d)):
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.7, 1.3)
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.uniform_(module.bias, -0.2, 0.2)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    for argument in sys.argv[2:] or list(SMALL):
        name, _, opset = argument.partition(":")
        network, shape = network_of(name)
        randomise(network)
        network.eval()
        x = torch.randn(shape)
        with torch.no_grad():
            y = network(x)
        torch.onnx.export(network, x, str(folder / f"{name}.onnx"), opset_version=int(opset or OPSETS.get(name, 13)),
                          input_names=["picture"], output_names=["result"],
                          dynamic_axes={"picture": {0: "N"}, "result": {0: "N"}})
        (folder / f"{name}.in").write_bytes(x.numpy().tobytes())
        (folder / f"{name}.out").write_bytes(y.numpy().tobytes())
        print(name)


if __name__ == "__main__":
    main()
