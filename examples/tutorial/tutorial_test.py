# Runs the programs of the tutorial and reads what they print.
# SPDX-License-Identifier: MIT
"""usage: tutorial_test.py DIR [Tutorial|FullSize]

DIR has the built programs. Tutorial runs them on little data; FullSize runs them on all of
Fashion-MNIST for one epoch, if it is installed.
"""
import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")
PROGRAMS = pathlib.Path()
TITLE = "Keras MNIST example, running on "
TITLES = {
    "cpu_demo": "CPU",
    "device_demo": "device",
    "faster_demo": "device with steps_per_execution",
    "replicated_demo": "device with replication",
    "pipelined_demo": "device with pipelining",
}
# Steps of an epoch and of the evaluation at full size, as in the original programs.
ORIGINAL_STEPS = {
    "cpu_demo": (938, 157),
    "device_demo": (937, 156),
    "faster_demo": (937, 156),
    "replicated_demo": (936, 156),
    "pipelined_demo": (936, 152),
}


def call(program, *flags, **environment):
    return subprocess.run([PROGRAMS / program, *map(str, flags)], capture_output=True, text=True,
                          check=False, env=dict(os.environ, **environment))


def write_data(folder, train, test):
    """MNIST-like files: class c is an image whose row 2c + 1 is white."""
    for name, count in (("train", train), ("t10k", test)):
        labels = bytes(i % 10 for i in range(count))
        images = bytearray(count * 28 * 28)
        for i, label in enumerate(labels):
            start = i * 28 * 28 + (2 * label + 1) * 28
            images[start:start + 28] = b"\xff" * 28
        size = count.to_bytes(4, "big")
        edge = (28).to_bytes(4, "big")
        pathlib.Path(folder, f"{name}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(b"\0\0\x08\x01" + size + labels))
        pathlib.Path(folder, f"{name}-images-idx3-ubyte").write_bytes(
            b"\0\0\x08\x03" + size + edge + edge + bytes(images))


class Programs(unittest.TestCase):
    def run_program(self, program, *flags):
        result = call(program, *flags)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def check_output(self, text, title, epochs, steps):
        """Checks the parts of the output in order; returns the values of their last lines."""
        lines = text.splitlines()
        self.assertEqual(lines[0], TITLE + title)
        self.assertRegex(lines[1], r"^Data: (mnist|fashion_mnist) \(.*\) in /")
        self.assertEqual(lines[-1], "Program ran successfully")
        self.assertIn("Total params: 34,826", text)
        training, evaluation = lines.index("Training"), lines.index("Evaluation")
        for part, total, ends in ((lines[training:evaluation], steps[0], epochs),
                                  (lines[evaluation:], steps[1], 1)):
            done = [line for line in part if line.startswith(f"{total}/{total} ")]
            self.assertEqual(len(done), ends, text)
            for line in done:
                self.assertRegex(line, r"s/step - loss: \d+\.\d+(e-\d+)? - accuracy: [\d.e+-]+$")
        values = [re.search(r"loss.*", line)[0] for line in (lines[evaluation - 2], done[0])]
        self.assertEqual(text.count("Epoch "), epochs)
        return values


class Tutorial(Programs):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = ("--data", cls.folder.name)
        write_data(cls.folder.name, 1100, 600)  # 17 batches and 12 samples; 9 and 24

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_no_sample_is_lost(self):
        for program, title in TITLES.items():
            with self.subTest(program):
                text = self.run_program(program, *self.data, "--epochs", 2)
                self.check_output(text, title, 2, (18, 10))

    def test_drop_remainder_drops_as_the_original_does(self):
        steps = {"cpu_demo": (17, 9), "device_demo": (17, 9), "faster_demo": (17, 9),
                 "replicated_demo": (16, 8), "pipelined_demo": (16, 8)}
        for program, title in TITLES.items():
            with self.subTest(program):
                text = self.run_program(program, *self.data, "--epochs", 1, "--drop-remainder")
                self.check_output(text, title, 1, steps[program])

    def test_one_device_gives_the_same_numbers_as_the_cpu(self):
        values = [self.check_output(self.run_program(program, *self.data), TITLES[program], 3,
                                    (18, 10))
                  for program in ("cpu_demo", "device_demo", "faster_demo")]
        self.assertEqual(values[0], values[1])
        self.assertEqual(values[0], values[2])

    def test_samples_limits_the_data(self):
        text = self.run_program("cpu_demo", *self.data, "--samples", 65, "--epochs", 1)
        self.check_output(text, "CPU", 1, (2, 2))

    def test_completed_example(self):
        for flags, title, steps in (
                ((), "CPU", (14, 8)),
                (("--use-ipu",), "device with replication", (14, 8)),
                (("--use-devices", "--batch-size", 64, "--drop-remainder"),
                 "device with replication", (16, 8)),
                (("--use-ipu", "--pipelining"), "device with pipelining", (14, 8)),
                (("--use-ipu", "--pipelining", "--gradient-accumulation-count", 4,
                  "--drop-remainder"), "device with pipelining", (12, 6)),
                (("--use-ipu", "--gradient-accumulation-steps-per-replica", 3, "--drop-remainder"),
                 "device with replication", (12, 6))):
            with self.subTest(flags):
                text = self.run_program("completed_example", *self.data, "--epochs", 1, *flags)
                self.check_output(text, title, 1, steps)
                self.assertNotIn("Note:", text)

    def test_completed_example_notes_flags_without_effect(self):
        text = self.run_program("completed_example", *self.data, "--epochs", 1, "--pipelining")
        note, rest = text.split("\n", 1)
        self.assertIn("only with --use-devices", note)
        self.check_output(rest, "CPU", 1, (14, 8))

    def test_wrong_flags(self):
        for program, flags, message in (
                ("cpu_demo", ("--epoch", 1), "--epochs"),
                ("cpu_demo", ("--use-ipu",), "'--use-ipu'"),
                ("completed_example", ("--pipeline",), "--pipelining"),
                ("device_demo", ("--epochs",), "--epochs "),
                ("device_demo", ("--epochs", "two"), "--epochs is 'two'"),
                ("device_demo", ("--samples", 0), "at least 1"),
                ("cpu_demo", ("--dataset", "cifar10"), "fashion_mnist")):
            with self.subTest(flags):
                result = call(program, *flags)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertIn(message, result.stderr)

    def test_mnist_is_used_where_it_is_present(self):
        with tempfile.TemporaryDirectory() as shelf:
            for name in ("mnist", "fashion_mnist"):
                pathlib.Path(shelf, name).mkdir()
                write_data(pathlib.Path(shelf, name), 64, 64)
            places = {"DATASETS_DIR": shelf, "PANDO_DATA": shelf + "/none"}
            for flags, data in (((), f"mnist (handwritten digits) in {shelf}/mnist"),
                                (("--dataset", "mnist"),
                                 f"mnist (handwritten digits) in {shelf}/mnist"),
                                (("--dataset", "fashion_mnist"),
                                 f"fashion_mnist (articles of clothing) in {shelf}/fashion_mnist")):
                result = call("cpu_demo", "--epochs", 1, *flags, **places)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn(f"Data: {data}\n", result.stdout)
            pathlib.Path(shelf, "mnist").rename(pathlib.Path(shelf, "gone"))
            result = call("cpu_demo", "--epochs", 1, **places)
            self.assertIn("Data: fashion_mnist ", result.stdout)
            result = call("cpu_demo", "--dataset", "mnist", **places)
            self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
            self.assertIn(f"{shelf}/mnist", result.stderr)

    def test_missing_data(self):
        result = call("cpu_demo", "--data", self.folder.name + "/nothing")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("nothing", result.stderr)

    def test_help_lists_the_flags(self):
        for flag in ("--help", "-h"):
            text = self.run_program("completed_example", flag)
            self.assertIn("--use-devices, --use-ipu\n", text)
            self.assertIn("--batch-size N\n", text)
            self.assertIn("--data DIR\n", text)
            self.assertIn("--dataset mnist|fashion_mnist\n", text)


@unittest.skipUnless(FASHION_MNIST.is_dir(), "Fashion-MNIST is not installed")
class FullSize(Programs):
    def test_step_counts_of_the_original(self):
        for program, steps in ORIGINAL_STEPS.items():
            with self.subTest(program):
                flags = () if program == "cpu_demo" else ("--drop-remainder",)
                text = self.run_program(program, "--epochs", 1, *flags)
                values = self.check_output(text, TITLES[program], 1, steps)
                self.assertGreater(float(values[1].split()[-1]), 0.6, values)


if __name__ == "__main__":
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
