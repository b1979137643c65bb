# Checks with h5py, step by step as the loader of Keras 2 does it, a file that Pando wrote.
# SPDX-License-Identifier: MIT
import sys

import h5py
import numpy as np


def text(value):
    return value.decode("utf8") if hasattr(value, "decode") else value


def names(group, name):
    if name in group.attrs:
        return [text(n) for n in group.attrs[name]]
    found, part = [], 0
    while "%s%d" % (name, part) in group.attrs:
        found.extend(text(n) for n in group.attrs["%s%d" % (name, part)])
        part += 1
    return found


def check_small(path):
    with h5py.File(path, "r") as f:
        assert f.attrs["layer_names"].dtype.kind == "S", f.attrs["layer_names"].dtype
        assert names(f, "layer_names") == ["input_1", "conv2d", "block1/bn"]
        assert text(f.attrs["backend"]) == "pando"
        assert text(f.attrs["keras_version"]).startswith("2.")
        assert text(f.attrs["pando_version"]) == "0.1.0"
        assert names(f["input_1"], "weight_names") == []
        assert f["conv2d"].attrs["weight_names"].dtype.kind == "S"
        assert names(f["conv2d"], "weight_names") == ["conv2d/kernel:0", "conv2d/bias:0"]
        kernel = f["/conv2d/conv2d/kernel:0"]
        assert kernel.dtype == np.dtype("<f4") and kernel.shape == (1, 2, 1, 2)
        assert np.array_equal(np.ravel(kernel), [1, -2, 3.5, 4])
        assert np.array_equal(f["conv2d"]["conv2d/bias:0"], [0.25, -1])
        assert np.array_equal(f["block1/bn/block1/bn/gamma:0"], [1, 1])
        assert names(f["top_level_model_weights"], "weight_names") == []
        assert f["pando_state/adam/step"].dtype == np.dtype("<i4")
        assert f["pando_state/adam/step"][()] == 7
        assert list(f["pando_state/rng"]) == [0, 200, 0]


def check_half(path):
    with h5py.File(path, "r") as f:
        kernel = f["/conv2d/conv2d/kernel:0"]
        assert kernel.dtype == np.float16, kernel.dtype
        assert np.array_equal(np.ravel(kernel), [1, -2, 3.5, 4])
        bias = f["conv2d"]["conv2d/bias:0"]
        assert bias.dtype == np.float32, bias.dtype
        assert np.array_equal(bias, [0.25, -1])


def check_long(path):
    with h5py.File(path, "r") as f:
        assert "layer_names" not in f.attrs
        assert names(f, "layer_names") == ["layer_%d_%s" % (i, "x" * 90) for i in range(1500)]
        assert len(text(f.attrs["model_config"])) == 100000


def change(path):
    with h5py.File(path, "r+") as f:
        f["conv2d/conv2d/bias:0"][...] = [8, 9]


{"small": check_small, "half": check_half, "long": check_long, "change": change}[sys.argv[1]](sys.argv[2])
