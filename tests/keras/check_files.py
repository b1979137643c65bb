# Reads files that we wrote with h5py and zipfile alone, and compares weights and descriptions.
# SPDX-License-Identifier: MIT
"""usage: check_files.py MODEL.h5 MODEL.keras WEIGHTS.bin

WEIGHTS.bin has the f32 numbers of all weights in the order of the model. Exits with 77 if h5py is
missing.
"""
import io
import json
import sys
import zipfile

try:
    import h5py
    import numpy
except ImportError:
    sys.exit(77)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def check_calls(config, refs):
    """Every layer is used behind its own place, as Keras builds it."""
    known = set()
    for layer in config["config"]["layers"]:
        assert layer["name"] == layer["config"]["name"]
        for name in refs(layer):
            assert name in known, (layer["name"], name)
        known.add(layer["name"])
    for key in ("input_layers", "output_layers"):
        for name, call, output in config["config"][key]:
            assert name in known and output == 0, (key, name)


def weights_of_hdf5(path):
    numbers = []
    with h5py.File(path) as file:
        assert text(file.attrs["keras_version"]).startswith("2.")
        config = json.loads(text(file.attrs["model_config"]))
        check_calls(config, lambda layer: [one[0] for call in layer["inbound_nodes"] for one in call])
        root = file["model_weights"]
        layers = [text(name) for name in root.attrs["layer_names"]]
        assert layers == [layer["name"] for layer in config["config"]["layers"]]
        for layer in layers:
            for name in root[layer].attrs["weight_names"]:
                dataset = root[layer][text(name)]
                assert dataset.dtype == numpy.float32
                numbers.append(dataset[()].ravel())
        check_optimizer(file["optimizer_weights"])
    return numpy.concatenate(numbers)


def check_optimizer(group):
    names = [text(name) for name in group.attrs["weight_names"]]
    assert names == ["iteration:0", "Adam/m/d/bias:0"], names
    assert group["iteration:0"][()] == 5
    assert list(group["Adam/m/d/bias:0"]) == [3, 4]


def snake(name):
    known = {"Conv2D": "conv2d", "DepthwiseConv2D": "depthwise_conv2d", "Dense": "dense",
             "BatchNormalization": "batch_normalization", "ReLU": "re_lu"}
    return known.get(name)


def weights_of_archive(path):
    numbers = []
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["config.json", "metadata.json", "model.weights.h5"]
        config = json.loads(archive.read("config.json"))
        assert json.loads(archive.read("metadata.json"))["keras_version"].startswith("3.")
        content = io.BytesIO(archive.read("model.weights.h5"))

    def refs(layer):
        for call in layer["inbound_nodes"]:
            (argument,) = call["args"]
            for tensor in argument if isinstance(argument, list) else [argument]:
                yield tensor["config"]["keras_history"][0]

    check_calls(config, refs)
    used = {}
    with h5py.File(content) as file:
        for layer in config["config"]["layers"]:
            stem = snake(layer["class_name"])
            if stem is None:
                continue
            number = used.get(stem, 0)
            used[stem] = number + 1
            group = file["layers"][stem if number == 0 else f"{stem}_{number}"]["vars"]
            for i in range(len(group)):
                numbers.append(group[str(i)][()].ravel())
    return numpy.concatenate(numbers)


expected = numpy.fromfile(sys.argv[3], dtype="<f4")
for found in (weights_of_hdf5(sys.argv[1]), weights_of_archive(sys.argv[2])):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert (found == expected).all()
