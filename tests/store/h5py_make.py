# Writes with h5py into a directory files with the layout of Keras 2 in many variants, and files
# that are wrong in one respect each.
# SPDX-License-Identifier: MIT
import os
import sys

import h5py
import numpy as np

KERNEL = np.arange(600, dtype=np.float64).reshape(3, 4, 5, 10) / 8 - 20
BIAS = np.array([0.5, -1.5, 2.0])


def fixed(values):
    return np.asarray([v.encode("utf8") for v in values])


def variable(values):
    return np.array(values, dtype=object)


def write(root, strings=fixed, dtype="<f4", suffix=":0", **dataset):
    root.attrs["layer_names"] = strings(["input_1", "conv2d", "dense"])
    root.attrs["backend"] = b"tensorflow"
    root.attrs["keras_version"] = "2.11.0"
    root.create_group("input_1").attrs["weight_names"] = []
    conv = root.create_group("conv2d")
    conv.attrs["weight_names"] = strings(["conv2d/kernel" + suffix])
    conv.create_dataset("conv2d/kernel" + suffix, data=KERNEL.astype(dtype), **dataset)
    dense = root.create_group("dense")
    dense.attrs["weight_names"] = strings(["model/dense/bias" + suffix])
    dense.create_dataset("model/dense/bias" + suffix, data=BIAS.astype(dtype))
    root.create_group("top_level_model_weights").attrs["weight_names"] = []


def good(f, name):
    if name == "plain":
        write(f)
    elif name == "compressed":
        write(f, compression="gzip", shuffle=True, fletcher32=True, chunks=(2, 2, 5, 7))
    elif name == "float64":
        write(f, dtype="<f8", strings=variable)
    elif name == "float16":
        write(f, dtype="<f2", suffix="")
    elif name == "float16_big":
        write(f, dtype=">f2")
    elif name == "big_endian":
        write(f, dtype=">f4")
    elif name == "extra":
        write(f)
        f.create_dataset("stray", data=[b"text"])
        f.create_group("optimizer_weights").attrs["weight_names"] = fixed(["x"])
        f.attrs["number"] = 5
        f.attrs["many"] = fixed(["a", "b"])
    elif name == "model":
        write(f.create_group("model_weights"))
        f.attrs["model_config"] = '{"class_name": "Sequential"}'


def bad(f, name):
    if name == "no_names":
        f.attrs["other"] = 1
        return
    if name == "keras3":
        f.create_dataset("layers/conv2d/vars/0", data=BIAS)
        return
    write(f)
    path = "dense/model/dense/bias:0"
    if name == "missing_dataset":
        del f[path]
    elif name == "missing_group":
        del f["dense"]
    elif name == "missing_weight_names":
        del f["dense"].attrs["weight_names"]
    elif name == "names_are_numbers":
        f.attrs["layer_names"] = [1, 2, 3]
    elif name == "name_is_empty":
        f["dense"].attrs["weight_names"] = fixed(["", "x"])
    else:
        del f[path]
        if name == "int64":
            f[path] = np.arange(3)
        elif name == "int64_large":
            f[path] = np.array([1, 1 << 40])
        elif name == "compound":
            f[path] = np.zeros(3, [("a", "f4"), ("b", "f4")])
        elif name == "lzf":
            f.create_dataset(path, data=BIAS, chunks=(3,), compression="lzf")
        elif name == "int32":
            f[path] = np.arange(3, dtype="<i4")
        elif name == "text":
            f[path] = "weights"
        elif name == "group":
            f.create_group(path)
        elif name == "null":
            f[path] = h5py.Empty("f4")
        elif name == "huge":
            f.create_dataset(path, shape=(1 << 40, 1 << 20), dtype="f4", chunks=(1, 1024))
        elif name == "overflow":
            f.create_dataset(path, shape=(1 << 33, 1 << 33), dtype="f4", chunks=(1, 1024))
        elif name == "large":
            f.create_dataset(path, shape=(1 << 36,), dtype="f4", chunks=(1024,))
        elif name == "soft_link_to_nothing":
            f[path] = h5py.SoftLink("/nothing")
        elif name == "soft_link_to_itself":
            f[path] = h5py.SoftLink("/" + path)
        elif name == "external_link":
            f[path] = h5py.ExternalLink("plain.h5", "/" + path)
        elif name == "external_data":
            f.create_dataset(path, shape=(3,), dtype="f4", external=[("plain.h5", 0, 12)])
        elif name == "virtual":
            layout = h5py.VirtualLayout(shape=(3,), dtype="f4")
            layout[:] = h5py.VirtualSource("plain.h5", "/" + path, shape=(3,))
            f.create_virtual_dataset(path, layout)


def main(directory):
    for name in "plain compressed float64 float16 float16_big big_endian extra model".split():
        for version in ("earliest", "latest"):
            path = os.path.join(directory, name + ("" if version == "earliest" else "_new") + ".h5")
            with h5py.File(path, "w", libver=version) as f:
                good(f, name)
    for name in sys.argv[2:]:
        with h5py.File(os.path.join(directory, "bad_" + name + ".h5"), "w") as f:
            bad(f, name)


main(sys.argv[1])
