# Changes pictures with PIL, for a comparison with our own changes.
# SPDX-License-Identifier: MIT
"""usage: pil_changes.py DIRECTORY

Writes N.before and N.after (raw bytes), and cases.txt with a line
"N OPERATION AMOUNT HEIGHT WIDTH CHANNELS" for each case. Exits with 77 if PIL or numpy is missing.
"""
import pathlib
import sys

try:
    import numpy as np
    from PIL import Image, ImageEnhance, ImageOps
except ImportError:
    sys.exit(77)


def picture(height, width, channels, seed):
    """Soft shapes with some noise and not the full range of values."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for _ in range(channels):
        fy, fx, phase = rng.uniform(0.05, 0.3), rng.uniform(0.05, 0.3), rng.uniform(0, 6)
        planes.append(120 + 80 * np.sin(fy * y + phase) * np.cos(fx * x)
                      + rng.normal(0, 8, (height, width)))
    pixels = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)


def sheared_x(image, amount):
    height = image.size[1]
    return image.transform(image.size, Image.AFFINE, (1, amount, -amount * height / 2, 0, 1, 0),
                           Image.NEAREST)


OPERATIONS = {
    "brightness": lambda image, amount: ImageEnhance.Brightness(image).enhance(amount),
    "contrast": lambda image, amount: ImageEnhance.Contrast(image).enhance(amount),
    "saturation": lambda image, amount: ImageEnhance.Color(image).enhance(amount),
    "sharpness": lambda image, amount: ImageEnhance.Sharpness(image).enhance(amount),
    "auto_contrast": lambda image, amount: ImageOps.autocontrast(image),
    "equalize": lambda image, amount: ImageOps.equalize(image),
    "posterize": lambda image, amount: ImageOps.posterize(image, int(amount)),
    "solarize": lambda image, amount: ImageOps.solarize(image, int(amount)),
    "rotate_nearest": lambda image, amount: image.rotate(amount, Image.NEAREST),
    "rotate_bilinear": lambda image, amount: image.rotate(amount, Image.BILINEAR),
    "shear_x_nearest": sheared_x,
}
FACTORS = (0, 0.1, 0.55, 1, 1.3, 1.9)
AMOUNTS = {
    "brightness": FACTORS, "contrast": FACTORS, "saturation": FACTORS, "sharpness": FACTORS,
    "auto_contrast": (0,), "equalize": (0,), "posterize": (1, 4, 7, 8),
    "solarize": (0, 100, 255, 256), "rotate_nearest": (0, 90, 180, 7.5, -30, 133.25),
    "rotate_bilinear": (0, 90, 7.5, -30), "shear_x_nearest": (0.3, -0.17),
}


def main():
    directory = pathlib.Path(sys.argv[1])
    lines = []
    for height, width, channels in ((32, 32, 3), (17, 41, 3), (28, 28, 1), (2, 2, 3), (100, 1, 3)):
        before = picture(height, width, channels, height + channels)
        for name, change in OPERATIONS.items():
            for amount in AMOUNTS[name]:
                after = change(before, amount)
                for kind, image in (("before", before), ("after", after)):
                    (directory / f"{len(lines)}.{kind}").write_bytes(image.tobytes())
                lines.append(f"{len(lines)} {name} {amount} {height} {width} {channels}")
    (directory / "cases.txt").write_text("\n".join(lines) + "\n")


main()
