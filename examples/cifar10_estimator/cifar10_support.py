# Code shared by the tests of the CIFAR-10 programs.
# SPDX-License-Identifier: MIT
import pathlib
import re
import subprocess
import tempfile
import unittest

TRAIN, TEST = 600, 120  # images of write_data


def write_data(folder):
    """Writes CIFAR-10's binary files: in class c rows 3c to 3c + 2 are white, the others black."""
    def record(label):
        image = bytearray(3 * 32 * 32)
        for plane in range(3):
            start = plane * 1024 + 3 * label * 32
            image[start:start + 96] = b"\xff" * 96
        return bytes([label]) + bytes(image)

    records = [record(label) for label in range(10)]
    for name, count in [(f"data_batch_{i}.bin", TRAIN // 5) for i in range(1, 6)] + [
            ("test_batch.bin", TEST)]:
        pathlib.Path(folder, name).write_bytes(b"".join(records[i % 10] for i in range(count)))


def checkpoints(folder):
    """The global steps of the checkpoints in a folder."""
    names = (re.fullmatch(r"model\.ckpt-(\d+)\.h5", path.name)
             for path in pathlib.Path(folder).iterdir())
    return sorted(int(name[1]) for name in names if name)


class ProgramTest(unittest.TestCase):
    folder = pathlib.Path()  # with the programs

    def call(self, program, *flags, **options):
        return subprocess.run([self.folder / program, *map(str, flags)], capture_output=True,
                              text=True, check=False, **options)

    def run_program(self, program, *flags):
        result = self.call(program, *flags)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def expect_failure(self, code, words, program, *flags, **options):
        result = self.call(program, *flags, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def expect_in_order(self, text, *parts):
        """Expects lines of `text` that match these expressions in order; returns the matches."""
        matches, lines = [], iter(text.splitlines())
        for part in parts:
            found = next((match for match in (re.fullmatch(part, line) for line in lines) if match),
                         None)
            self.assertIsNotNone(found, f"no line '{part}' after {matches} in:\n{text}")
            matches.append(found)
        return matches


class DataTest(ProgramTest):
    """Provides data for all tests of the class and a model_dir for each test."""
    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.TemporaryDirectory()
        cls.data = pathlib.Path(cls.files.name, "data")
        cls.data.mkdir()
        write_data(cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.files.cleanup()

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.model_dir = pathlib.Path(made.name)
