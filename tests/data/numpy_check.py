# Writes arrays of all types and orders with NumPy, or prints those that Pando wrote.
# SPDX-License-Identifier: MIT
"""usage: numpy_check.py write DIRECTORY | read DIRECTORY

Exits with 77 if numpy is missing.
"""
import pathlib
import sys

try:
    import numpy as np
    from numpy.lib import format as npy_format
except ImportError:
    sys.exit(77)


def write(folder):
    values = np.arange(24).reshape(3, 4, 2)
    for kind in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
        for order in "<>":
            array = values.astype(order + kind)
            name = f"{kind}_{'big' if order == '>' else 'little'}"
            np.save(folder / f"{name}.npy", array)
            np.save(folder / f"{name}_fortran.npy", np.asfortranarray(array))
    np.save(folder / "bool.npy", values % 2 == 1)
    for version in ((2, 0), (3, 0)):
        with open(folder / f"version{version[0]}.npy", "wb") as file:
            npy_format.write_array(file, values.astype("<f4"), version=version)
    arrays = {"x_train": np.ones((5, 3), "f4"), "y_train": np.arange(5)}
    np.savez(folder / "plain.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)


def read(folder):
    for path in sorted(folder.glob("*.npy")):
        array = np.load(path)
        print(path.stem, array.dtype, array.tolist())


{"write": write, "read": read}[sys.argv[1]](pathlib.Path(sys.argv[2]))
