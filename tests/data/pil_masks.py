# Writes masks of every kind with PIL and, next to each, the numbers that PIL reads back.
# SPDX-License-Identifier: MIT
"""usage: pil_masks.py DIRECTORY

Writes NAME.png with NAME.raw (a byte for each pixel). Exits with 77 if PIL or numpy is missing.
"""
import pathlib
import sys

try:
    import numpy as np
    from PIL import Image
except ImportError:
    sys.exit(77)


def save(folder, name, image, **options):
    path = folder / f"{name}.png"
    image.save(path, **options)
    path.with_suffix(".raw").write_bytes(np.asarray(Image.open(path)).astype(np.uint8).tobytes())


def main(folder):
    numbers = np.add.outer(np.arange(23), np.arange(37)).astype(np.uint8)
    save(folder, "grey", Image.fromarray(numbers))
    save(folder, "bit", Image.fromarray(numbers % 2 == 1))
    # Colours as in PASCAL VOC: a palette whose places are the classes.
    for bits in (1, 2, 4, 8):
        mask = Image.fromarray(numbers % (1 << bits) if bits < 8 else numbers * 4, mode="P")
        mask.putpalette(np.random.default_rng(bits).integers(0, 256, 768).tolist())
        save(folder, f"palette{bits}", mask, bits=bits)
        save(folder, f"palette{bits}_transparent", mask, bits=bits, transparency=0)


main(pathlib.Path(sys.argv[1]))
