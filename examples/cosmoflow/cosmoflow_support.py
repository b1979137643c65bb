# Code shared by the tests of cosmoflow.
# SPDX-License-Identifier: MIT
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

COSMOFLOW = PANDO = ""  # paths of the programs, set by the test
HEADER = "Iteration, Batches/Second, Samples/Second"
SMALL = """
output_dir: {folder}/out
data:
  name: {name}
  n_train: 8
  n_valid: {n_valid}
  sample_shape: [{side}, {side}, {side}, 4]
  target_shape: [4]
  micro_batch_size: {batch}
  n_epochs: 3
{data}
model:
  name: {model}
  n_conv_layers: 2
  conv_size: 4
  fc1_size: 8
  fc2_size: 8
optimizer:
  name: SGD
  lr: 0.1
device_config:
  iterations_per_loop: 2
  num_devices: 1
"""


def call(*words, program=None):
    return subprocess.run([program or COSMOFLOW, *map(str, words)], capture_output=True, text=True,
                          check=False, timeout=300)


def table_of(text):
    """The rows of the table, as numbers."""
    lines = text.splitlines()
    rows = []
    for line in lines[lines.index(HEADER) + 1:]:
        if not re.fullmatch(r"\d+, [\d.]+, [\d.]+", line):
            break
        rows.append([float(number) for number in line.split(", ")])
    return rows


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def write_config(self, side=8, batch=1, name="dummy", n_valid=0, model="cosmoflow", data="",
                     text=SMALL):
        path = self.folder / "config.yaml"
        path.write_text(text.format(folder=self.folder, side=side, batch=batch, name=name,
                                    n_valid=n_valid, model=model, data=data))
        return path

    def make_volumes(self, side, train=8, validation=4):
        folder = self.folder / f"volumes/{side}"
        result = call("data", "make-cosmoflow", folder, "--side", side, "--train", train,
                      "--validation", validation, program=PANDO)
        self.assertEqual(result.returncode, 0, result.stderr)
        return folder

    def run_program(self, *words):
        result = call(*words)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "All done!")
        return result.stdout

    def interrupt(self, *words):
        """Sends SIGINT after the first loop; returns the rest of stdout, and stderr."""
        with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                if "sec/itr." in line:
                    break
            run.send_signal(signal.SIGINT)
            rest, errors = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 75, rest + errors)
        self.assertIn(HEADER, rest)
        self.assertIn("weight update", errors)
        return rest, errors

    def check_output(self, text, loops, samples_per_step, devices=1, batch=1):
        """Checks the lines of a training run in order; returns the loss of each loop."""
        lines = text.splitlines()
        warm_up = lines.index("Compiling and Warmup...")
        self.assertRegex(lines[warm_up + 1], r"^Duration: \d+\.\d+ seconds$")
        self.assertEqual(lines[warm_up + 2], "Executing...")
        told = [re.fullmatch(r"[\d.]+ sec/itr\. \(loss ([\d.e-]+), mae [\d.e-]+\)", line)
                for line in lines[warm_up + 3:lines.index(HEADER)] if "sec/itr" in line]
        self.assertEqual(len(told), loops, text)
        rows = table_of(text)
        self.assertEqual([row[0] for row in rows], list(range(1, loops + 1)))
        for _, batches, samples in rows:
            # Both are rounded to two decimal places.
            self.assertAlmostEqual(batches * samples_per_step, samples,
                                   delta=0.01 * samples_per_step + 0.01)
        took = re.search(r"Took [\d.]+ minutes, i\.e\. [\d.]+ samples per second for batch-size "
                         r"(\d+) and no\. devices = (\d+)", text)
        self.assertEqual(took.groups(), (str(batch), str(devices)))
        return [float(match[1]) for match in told]
