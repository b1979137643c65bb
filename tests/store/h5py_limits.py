# Writes with h5py files with very many chunks:
# shuffled.h5: chunks of one element; damaged, so that the shuffle filter says elements of 4 GiB.
# floats.h5, bytes.h5: chunks of one element without an index, one after the other in the file.
# usage: h5py_limits.py DIRECTORY
# SPDX-License-Identifier: MIT
import os
import sys

import h5py
import numpy as np


def write(path, version, data, shuffled):
    with h5py.File(path, "w", libver=version) as file:
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_chunk((1,))
        if shuffled:
            options.set_shuffle()
        else:
            options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made = h5py.h5d.create(file.id, b"data", h5py.h5t.py_create(data.dtype),
                               h5py.h5s.create_simple(data.shape), options)
        if data.any():
            h5py.Dataset(made)[...] = data


def main(directory):
    write(os.path.join(directory, "floats.h5"), "latest", np.arange(20000, dtype="<f4"), False)
    write(os.path.join(directory, "bytes.h5"), "latest", np.zeros(70000, dtype="u1"), False)
    path = os.path.join(directory, "shuffled.h5")
    write(path, "earliest", np.arange(1000, dtype="<f4"), True)
    with open(path, "rb") as file:
        content = file.read()
    place = b"shuffle\0"
    assert content.count(place + b"\4\0\0\0") == 1
    with open(path, "wb") as file:
        file.write(content.replace(place + b"\4\0\0\0", place + b"\xff\xff\xff\xff"))


main(sys.argv[1])
