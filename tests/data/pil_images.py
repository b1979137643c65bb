# Writes images of every kind with PIL and, next to each, the RGB pixels that PIL reads back.
# SPDX-License-Identifier: MIT
"""usage: pil_images.py DIRECTORY

Writes NAME.jpg or NAME.png with NAME.rgb (raw bytes), and names.txt with a line
"FILE HEIGHT WIDTH" for each image. Exits with 77 if PIL or numpy is missing.
"""
import pathlib
import struct
import sys
import zlib

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError:
    sys.exit(77)


def picture(height, width, seed):
    """Soft shapes with some noise: like a photograph, neither flat nor white noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    channels = []
    for _ in range(3):
        fy, fx, phase = rng.uniform(0.02, 0.2), rng.uniform(0.02, 0.2), rng.uniform(0, 6)
        channels.append(128 + 100 * np.sin(fy * y + phase) * np.cos(fx * x)
                        + rng.normal(0, 6, (height, width)))
    return np.clip(np.stack(channels, -1), 0, 255).astype(np.uint8)


def save(directory, names, name, image, expected=None, **options):
    path = directory / name
    image.save(path, **options)
    rgb = np.asarray(Image.open(path).convert("RGB")) if expected is None else expected
    path.with_suffix(".rgb").write_bytes(np.ascontiguousarray(rgb).tobytes())
    names.append(f"{name} {rgb.shape[0]} {rgb.shape[1]}")


def jpegs(directory, names):
    for height, width in ((1, 1), (7, 5), (8, 8), (17, 31), (64, 48), (121, 203)):
        rgb = Image.fromarray(picture(height, width, height))
        tag = f"{height}x{width}"
        save(directory, names, f"baseline_{tag}.jpg", rgb, quality=90)
        save(directory, names, f"progressive_{tag}.jpg", rgb, quality=85, progressive=True)
        save(directory, names, f"full_colour_{tag}.jpg", rgb, quality=95, subsampling=0)
        save(directory, names, f"half_colour_{tag}.jpg", rgb, quality=75, subsampling=1)
        save(directory, names, f"grey_{tag}.jpg", rgb.convert("L"), quality=90)
        save(directory, names, f"cmyk_{tag}.jpg", rgb.convert("CMYK"), quality=90)
        save(directory, names, f"optimised_{tag}.jpg", rgb, quality=30, optimize=True)


def pngs(directory, names):
    pixels = picture(37, 29, 5)
    rgb = Image.fromarray(pixels)
    alpha = Image.fromarray(np.arange(37 * 29, dtype=np.uint8).reshape(37, 29))
    save(directory, names, "rgb.png", rgb)
    rgba = rgb.copy()
    rgba.putalpha(alpha)
    save(directory, names, "rgba.png", rgba)
    grey = rgb.convert("L")
    save(directory, names, "grey8.png", grey)
    grey_alpha = grey.copy()
    grey_alpha.putalpha(alpha)
    save(directory, names, "grey_alpha.png", grey_alpha)
    save(directory, names, "grey1.png", grey.convert("1"))
    for colours in (2, 4, 16, 200):
        save(directory, names, f"palette{colours}.png", rgb.quantize(colours))
    save(directory, names, "palette_transparent.png", rgb.quantize(16), transparency=3)
    save(directory, names, "rgb_transparent.png", rgb, transparency=(1, 2, 3))
    deep = np.arange(37 * 29, dtype=np.uint16).reshape(37, 29) * 61
    upper = np.repeat((deep >> 8).astype(np.uint8)[..., None], 3, -1)
    save(directory, names, "grey16.png", Image.fromarray(deep.astype(np.int32), "I"), upper)


def turned(directory, names):
    """Photographs with an orientation, in both byte orders, and what people see of them."""
    rgb = Image.fromarray(picture(24, 37, 3))
    for orientation in range(1, 9):
        for order, endian in (("little", "<"), ("big", ">")):
            exif = Image.Exif()
            exif.endian = endian
            exif[0x010f] = "a camera"
            exif[0x0112] = orientation
            for ending in ("jpg", "png"):
                name = f"turned_{ending}_{orientation}_{order}.{ending}"
                rgb.save(directory / name, exif=exif.tobytes())
                upright = ImageOps.exif_transpose(Image.open(directory / name)).convert("RGB")
                save(directory, names, name, rgb, np.asarray(upright), exif=exif.tobytes())


def packed(samples, depth):
    """The filtered rows (filter 0) of samples [height, width * channels]."""
    rows = []
    for row in samples:
        if depth == 16:
            data = row.astype(">u2").tobytes()
        else:
            bits = "".join(format(v, f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        rows.append(b"\0" + data)
    return b"".join(rows)


def raw_png(samples, depth, colour, interlaced=False):
    """A PNG of samples [height, width, channels], for the formats that PIL does not write."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width, _ = samples.shape
    passes = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2),
              (1, 2, 0, 1)] if interlaced else [(0, 1, 0, 1)]
    data = b""
    for y, dy, x, dx in passes:
        part = samples[y::dy, x::dx]
        if part.size:
            data += packed(part.reshape(part.shape[0], -1), depth)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data))
            + chunk(b"IEND", b""))


def raw_pngs(directory, names):
    colours = {"grey": (0, 1), "rgb": (2, 3), "grey_alpha": (4, 2), "rgba": (6, 4)}
    rng = np.random.default_rng(9)
    for kind, (colour, channels) in colours.items():
        for depth in (1, 2, 4, 8, 16) if kind == "grey" else (8, 16):
            for interlaced in (False, True):
                name = f"raw_{kind}_{depth}{'_interlaced' * interlaced}.png"
                samples = rng.integers(0, 2 ** depth, (19, 13, channels))
                (directory / name).write_bytes(raw_png(samples, depth, colour, interlaced))
                eight = samples >> 8 if depth == 16 else samples * (255 // (2 ** depth - 1))
                colour_part = eight[..., :3] if channels >= 3 else np.repeat(eight[..., :1], 3, -1)
                (directory / name).with_suffix(".rgb").write_bytes(
                    np.ascontiguousarray(colour_part.astype(np.uint8)).tobytes())
                names.append(f"{name} 19 13")


def main():
    directory = pathlib.Path(sys.argv[1])
    names = []
    jpegs(directory, names)
    pngs(directory, names)
    raw_pngs(directory, names)
    turned(directory, names)
    (directory / "names.txt").write_text("\n".join(names) + "\n")


if __name__ == "__main__":
    main()
