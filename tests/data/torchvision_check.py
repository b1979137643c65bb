"""Prints a line for each sample that torchvision reads: label, file, height, width, pixel sum.

usage: torchvision_check.py folder DIRECTORY   a folder of images per class
       torchvision_check.py idx DIRECTORY      the test images of (Fashion-)MNIST, no file names
Exits with 77 if torchvision is missing.
"""
# SPDX-License-Identifier: MIT
import gzip
import os
import sys
import tempfile

try:
    import numpy as np
    from torchvision.datasets import FashionMNIST, ImageFolder
except ImportError:
    sys.exit(77)


def show(label, name, image):
    pixels = np.asarray(image).astype(np.int64)
    # The sum is weighted, to detect pixels in another order. JPEG decoders may differ a little.
    weights = np.arange(1, pixels.size + 1).reshape(pixels.shape) % 1009
    total = "-" if name.endswith("jpg") else (pixels * weights).sum()
    print(label, name, *pixels.shape[:2], total)


def folder(directory):
    def is_shown(path):
        return not os.path.basename(path).startswith(".")
    images = ImageFolder(directory, is_valid_file=is_shown)
    for index, (path, _) in enumerate(images.samples):
        image, label = images[index]
        show(label, os.path.relpath(path, directory), image)


def idx(directory):
    """torchvision needs the files unpacked, in a folder with the name of the class."""
    with tempfile.TemporaryDirectory() as root:
        raw = os.path.join(root, "FashionMNIST", "raw")
        os.makedirs(raw)
        for name in os.listdir(directory):
            if name.endswith("ubyte.gz"):
                with gzip.open(os.path.join(directory, name)) as packed:
                    with open(os.path.join(raw, name[:-3]), "wb") as plain:
                        plain.write(packed.read())
        images = FashionMNIST(root, train=False)
        for index in range(len(images)):
            image, label = images[index]
            show(label, "-", image)


if __name__ == "__main__":
    {"folder": folder, "idx": idx}[sys.argv[1]](sys.argv[2])
