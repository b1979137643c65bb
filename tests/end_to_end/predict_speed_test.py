# SPDX-License-Identifier: MIT
"""`pando predict` answers thousands of small pictures per second and keeps only a few of them in
memory. Usage: predict_speed_test.py PROGRAM. The limits are of processor time, which other
processes change little, and several times what the program needs."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

PICTURES = 4000
MOST_SECONDS = 1.0  # of processor time: 4,000 pictures per second on one core
MOST_MORE_BYTES = 64 << 20


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def grey_png(numbers):
    rows = b"".join(b"\0" + numbers.randbytes(28) for _ in range(28))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def predict(program, model, pictures, output):
    """Answers of the program, its seconds of processor time and its largest memory in bytes."""
    with open(output, "wb") as file:
        process = subprocess.Popen([program, "predict", model, pictures, "--json",
                                    "--preprocessing", "scale"], stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, process.returncode
    return (json.loads(output.read_text()), usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    numbers = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "model.onnx"
        subprocess.run([program, "export", "--model", "mnist_cnn", "-o", model], check=True,
                       stdout=subprocess.DEVNULL)
        for part, count in (("few", 100), ("many", PICTURES)):
            (folder / part).mkdir()
            for i in range(count):
                (folder / part / f"{i:05}.png").write_bytes(grey_png(numbers))
        _, start, small = predict(program, model, folder / "few", folder / "few.json")
        answers, seconds, large = predict(program, model, folder / "many", folder / "many.json")
        print(f"{len(answers)} pictures in {seconds:.2f} s of processor time (100 in {start:.2f} s),"
              f" {(large - small) / 2**20:.1f} MiB more than for 100")
        assert len(answers) == PICTURES, len(answers)
        assert len({answer["scores"][0]["value"] for answer in answers}) > PICTURES / 2
        assert seconds - start < MOST_SECONDS, seconds
        assert large - small < MOST_MORE_BYTES, (small, large)


if __name__ == "__main__":
    main()
