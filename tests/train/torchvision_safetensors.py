"""Weights of torchvision as safetensors files, written and read without the safetensors package.

usage: torchvision_safetensors.py write|check MODEL WEIGHTS SAMPLES
write: WEIGHTS gets the state_dict of a network with random weights, SAMPLES pictures x and the
logarithms y of the probabilities. check: loads WEIGHTS into the network and compares with y.
Exits with 77 if torchvision is missing.
"""
# SPDX-License-Identifier: MIT
import json
import struct
import sys

try:
    import numpy
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

TYPES = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}


def write(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in tensors.items():
        array = value.contiguous().numpy()
        kind = "I64" if array.dtype == numpy.int64 else "F32"
        raw = array.astype(TYPES[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as file:
        bytes_ = file.read()
    length = struct.unpack("<Q", bytes_[:8])[0]
    header, data = json.loads(bytes_[8 : 8 + length]), bytes_[8 + length :]
    header.pop("__metadata__", None)
    return {
        name: torch.from_numpy(
            numpy.frombuffer(data[slice(*entry["data_offsets"])], TYPES[entry["dtype"]])
            .astype("f4" if entry["dtype"] != "I64" else "i8").reshape(entry["shape"]))
        for name, entry in header.items()
    }


def main(what, name, weights, samples):
    torch.manual_seed(3)
    model = torchvision.models.get_model(name, weights=None).eval()
    with torch.no_grad():
        if what == "write":
            for norm in model.modules():
                if isinstance(norm, torch.nn.BatchNorm2d):
                    norm.running_mean.uniform_(-0.1, 0.1)
                    norm.running_var.uniform_(0.7, 1.4)
            for key, weight in model.named_parameters():
                if key.endswith("bn3.weight"):  # at the end of a branch: 33 of them explode otherwise
                    weight.uniform_(0.0, 0.1)
                if key.endswith("layer_scale"):
                    weight.uniform_(0.3, 1.0)
            write(weights, model.state_dict())
            x = torch.randn(2, 3, 224, 224)
            write(samples, {"x": x.permute(0, 2, 3, 1), "y": torch.log_softmax(model(x), 1)})
            return 0
        model.load_state_dict(read(weights))
        given = read(samples)
        y = torch.log_softmax(model(given["x"].permute(0, 3, 1, 2)), 1)
        difference = (y - given["y"]).abs().max().item()
        print(f"difference {difference:.2e}")
        return 0 if difference < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
