# Makes files as Keras writes them, with h5py and zipfile alone, for files_test.cc.
# SPDX-License-Identifier: MIT
"""usage: make_files.py FOLDER

Exits with 77 if h5py is missing. All files have the weights i / 7 for element i of the file, counted
over all weights.
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

FOLDER = sys.argv[1]
LAYERS = [
    ("conv", "Conv2D", {"filters": 3, "kernel_size": [3, 3], "activation": "relu"},
     [("kernel", (3, 3, 2, 3)), ("bias", (3,))]),
    ("norm", "BatchNormalization", {"axis": [3]},
     [(name, (3,)) for name in ("gamma", "beta", "moving_mean", "moving_variance")]),
    ("flat", "Flatten", {}, []),
    ("dense", "Dense", {"units": 4, "activation": "softmax"}, [("kernel", (36, 4)), ("bias", (4,))]),
]


class Numbers:
    def __init__(self):
        self.next = 0

    def __call__(self, shape):
        count = int(numpy.prod(shape))
        values = numpy.arange(self.next, self.next + count, dtype="f4") / 7
        self.next += count
        return values.reshape(shape)


def description(version):
    layers = []
    shape_key = "batch_shape" if version == 3 else "batch_input_shape"
    layers.append({"class_name": "InputLayer", "config": {shape_key: [None, 6, 5, 2], "name": "in"}})
    for name, class_name, options, _ in LAYERS:
        layers.append({"class_name": class_name, "config": {"name": name, **options}})
    return {"class_name": "Sequential", "config": {"name": "made", "layers": layers}}


def write_groups(root, text):
    """The weights of Keras 2. `text` makes the strings of attributes."""
    numbers = Numbers()
    root.attrs["layer_names"] = [text(name) for name, _, _, _ in LAYERS]
    root.attrs["backend"] = text("tensorflow")
    for name, _, _, weights in LAYERS:
        group = root.create_group(name)
        names = [f"{name}/{weight}:0" for weight, _ in weights]
        group.attrs["weight_names"] = [text(one) for one in names]
        for one, (_, shape) in zip(names, weights):
            group.create_dataset(one, data=numbers(shape))


def whole_model(path, version, text, split=False):
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = text(version)
        config = json.dumps(description(2)).encode()
        if split:
            middle = len(config) // 2
            file.attrs["model_config0"] = config[:middle]
            file.attrs["model_config1"] = config[middle:]
        else:
            file.attrs["model_config"] = config
        file.attrs["training_config"] = json.dumps({"loss": "mse"}).encode()
        write_groups(file.create_group("model_weights"), text)
        optimizer = file.create_group("optimizer_weights")
        optimizer.attrs["weight_names"] = [text("Adam/iterations:0"), text("Adam/conv/kernel/m:0")]
        optimizer.create_dataset("Adam/iterations:0", data=numpy.int64(5))
        optimizer.create_dataset("Adam/conv/kernel/m:0", data=numpy.ones((3, 3, 2, 3), "f4"))


def archive(path, container, version):
    weights = io.BytesIO()
    numbers = Numbers()
    with h5py.File(weights, "w") as file:
        for name, class_name, _, shapes in LAYERS:
            stem = {"Conv2D": "conv2d", "BatchNormalization": "batch_normalization"}.get(
                class_name, class_name.lower())
            group = file.create_group(f"{container}/{stem}/vars")
            for i, (_, shape) in enumerate(shapes):
                group.create_dataset(str(i), data=numbers(shape))
        file.create_group("optimizer/vars").create_dataset("0", data=numpy.int64(5))
        file.create_group("vars")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata.json", json.dumps({"keras_version": version, "date_saved": "now"}))
        file.writestr("config.json", json.dumps({**description(3), "compile_config": {"loss": "mse"}}),
                      compress_type=zipfile.ZIP_DEFLATED)
        file.writestr("model.weights.h5", weights.getvalue())


def members(path, names):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in names:
            file.writestr(name, content, compress_type=zipfile.ZIP_DEFLATED)


def unpacks_to_much(path):
    """Small on disk; its weights would need 128 MB, its layers some kilobytes."""
    whole_model(path, "2.15.0", str)
    with h5py.File(path, "a") as file:
        group = file["model_weights/dense"]
        del group["dense/kernel:0"]
        group.create_dataset("dense/kernel:0", data=numpy.zeros((32000, 1000), "f4"),
                             chunks=(1000, 1000), compression="gzip", compression_opts=1)


def graph_of_groups(path):
    """A group that contains itself."""
    with h5py.File(path, "w") as file:
        group = file.create_group("layers")
        group["again"] = group


def main():
    whole_model(f"{FOLDER}/old.h5", "2.2.4", lambda value: value.encode())
    whole_model(f"{FOLDER}/new.h5", "2.15.0", str)
    whole_model(f"{FOLDER}/split.h5", "2.1.6-tf", lambda value: value.encode(), split=True)
    archive(f"{FOLDER}/three.keras", "layers", "3.4.1")
    archive(f"{FOLDER}/two.keras", "_layer_checkpoint_dependencies", "2.13.1")
    with h5py.File(f"{FOLDER}/weights.h5", "w") as file:
        write_groups(file, str)
    with h5py.File(f"{FOLDER}/config_only.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(description(2))
    whole_model(f"{FOLDER}/no_names.h5", "2.15.0", str)
    with h5py.File(f"{FOLDER}/no_names.h5", "a") as file:
        del file["model_weights/dense"].attrs["weight_names"]
    whole_model(f"{FOLDER}/no_group.h5", "2.15.0", str)
    with h5py.File(f"{FOLDER}/no_group.h5", "a") as file:
        del file["model_weights/dense"]
    whole_model(f"{FOLDER}/no_weight.h5", "2.15.0", str)
    with h5py.File(f"{FOLDER}/no_weight.h5", "a") as file:
        del file["model_weights/dense/dense/bias:0"]
    metadata = json.dumps({"keras_version": "3.0.0"})
    config = json.dumps(description(3))
    members(f"{FOLDER}/twice.keras", [("config.json", config), ("config.json", config)])
    members(f"{FOLDER}/outside.keras", [("../config.json", config)])
    members(f"{FOLDER}/absolute.keras", [("/config.json", config)])
    members(f"{FOLDER}/backslash.keras", [("..\\config.json", config)])
    members(f"{FOLDER}/missing.keras", [("metadata.json", metadata), ("config.json", config)])
    members(f"{FOLDER}/version.keras", [("metadata.json", json.dumps({"keras_version": "x"})),
                                        ("config.json", config)])
    members(f"{FOLDER}/no_json.keras", [("metadata.json", metadata), ("config.json", "{")])
    members(f"{FOLDER}/bomb.keras", [("metadata.json", metadata), ("config.json", " " * 70_000_000)])
    members(f"{FOLDER}/weights_bomb.keras", [("metadata.json", metadata), ("config.json", config),
                                             ("model.weights.h5", bytes(100_000_000))])
    unpacks_to_much(f"{FOLDER}/chunks_bomb.h5")
    members(f"{FOLDER}/many.keras", [(f"{i}.json", "") for i in range(10001)])
    graph_of_groups(f"{FOLDER}/cycle.h5")
    with open(f"{FOLDER}/cycle.h5", "rb") as file:
        members(f"{FOLDER}/cycle.keras", [("metadata.json", metadata), ("config.json", config),
                                          ("model.weights.h5", file.read())])


main()
