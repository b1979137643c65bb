"""Writes pictures of text as float32 numbers, channels first, normalised as PaddleOCR does.
usage: text_pictures.py FILE HEIGHT WIDTH MEAN DEVIATION
SPDX-License-Identifier: MIT
"""
import sys

try:
    import numpy
    from PIL import Image, ImageDraw, ImageFont
except ImportError:
    sys.exit(77)

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def main():
    path, height, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    mean, deviation = float(sys.argv[4]), float(sys.argv[5])
    picture = Image.new("RGB", (width, height), (235, 230, 220))
    draw = ImageDraw.Draw(picture)
    lines = max(1, height // 90)
    try:
        font = ImageFont.truetype(FONT, min(36, height * 2 // 3))
    except OSError:
        sys.exit(77)
    for line in range(lines):
        draw.text((width // 40, line * height // lines + 4), f"Reading text {line + 1} 2048",
                  fill=(20 + 10 * line, 30, 60), font=font)
    numbers = (numpy.asarray(picture, numpy.float32) / 255 - mean) / deviation
    numpy.ascontiguousarray(numbers.transpose(2, 0, 1)).tofile(path)


main()
