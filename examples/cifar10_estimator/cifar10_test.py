# Runs the programs of this folder and reads what they print and write.
# SPDX-License-Identifier: MIT
"""usage: cifar10_test.py DIR PANDO [Programs|Instances|FullSize]

DIR has the built programs. Programs runs them on little data, Instances runs them with `pando run`,
FullSize runs them for 150 epochs on CIFAR-10 if that is on this machine.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import cifar10_support
from cifar10_support import DataTest, ProgramTest, checkpoints

PROGRAMS = ("cifar10_estimator", "cifar10_estimator_replica", "cifar10_estimator_pipeline")
PIPELINE = PROGRAMS[2]
PANDO = ""


class Programs(DataTest):
    def train(self, program, *flags, model_dir=None, steps=r"\d+ steps per execution, \d+ per epoch"):
        """Runs the program; returns the lines with accuracy and loss."""
        text = self.run_program(program, "--data", self.data, "--model-dir",
                                model_dir or self.model_dir, *flags)
        matches = self.expect_in_order(
            text, r"Loading the data\.\.\.", "Initialize the model",
            "18 layers, 1,260,106 parameters; " + steps, r"Training\.\.\.",
            r"Check the result\.\.\.", r"Validation accuracy: (\d+\.\d\d)%",
            r"Validation loss: [\d.e+-]+")
        self.accuracy = float(matches[-2][1])
        return [match[0] for match in matches[-2:]]

    def test_each_program_learns_in_the_steps_of_the_original(self):
        for program, loop, epoch, flags in (
                (PROGRAMS[0], 30, 150, ()), (PROGRAMS[1], 30, 150, ("--ipus", 2)),
                (PIPELINE, 24, 120, ("--model_shard_position", 7))):
            with self.subTest(program), tempfile.TemporaryDirectory() as model_dir:
                self.train(program, "--batch-size", 4, "--epochs", 1, *flags, model_dir=model_dir,
                           steps=f"{loop} steps per execution, {epoch} per epoch")
                self.assertGreater(self.accuracy, 90)
                self.assertEqual(checkpoints(model_dir)[-1], epoch)

    def test_training_goes_on_as_if_it_had_not_ended(self):
        for program in PROGRAMS:
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                flags = ("--samples", 160, "--batch-size", 4)
                parts, whole = folder + "/parts", folder + "/whole"
                first = self.train(program, *flags, "--epochs", 1, model_dir=parts)
                second = self.train(program, *flags, "--epochs", 2, model_dir=parts)
                unbroken = self.train(program, *flags, "--epochs", 2, model_dir=whole)
                self.assertNotEqual(first, second)
                self.assertEqual(second, unbroken)
                self.assertEqual(checkpoints(parts)[-1], checkpoints(whole)[-1])

    def test_what_is_trained_is_not_trained_again(self):
        flags = ("--samples", 60, "--batch-size", 4, "--epochs", 1)
        first = self.train(PROGRAMS[0], *flags)
        text = self.run_program(PROGRAMS[0], "--data", self.data, "--model-dir", self.model_dir,
                                *flags)
        self.assertRegex(text, r"(?i)no training: .*\b15\b.*max_steps.*\b15\b")
        self.assertEqual(text.splitlines()[-2:], first)

    def test_a_line_at_the_end_of_each_epoch(self):
        text = self.run_program(PROGRAMS[0], "--data", self.data, "--model-dir", self.model_dir,
                                "--samples", 60, "--batch-size", 4, "--epochs", 3)
        lines = [line for line in text.splitlines() if "loss = " in line]
        self.assertEqual(len(lines), 3, text)
        for epoch, line in enumerate(lines, 1):
            self.assertRegex(line, rf"^epoch {epoch} of 3, step {15 * epoch}: loss = [\d.e+-]+ \(")

    def test_more_replicas_than_cores_are_told(self):
        many = 4 * (os.cpu_count() or 1)
        text = self.run_program(PROGRAMS[1], "--data", self.data, "--model-dir", self.model_dir,
                                "--samples", 20, "--batch-size", 4, "--epochs", 1,
                                "--replicas", many)
        self.assertRegex(text, rf"(?m)^note: {many} replicas share \d+ cores?$")

    def test_the_newest_five_checkpoints_are_kept(self):
        self.train(PROGRAMS[0], "--samples", 60, "--batch-size", 4, "--epochs", 7,
                   steps="3 steps per execution, 15 per epoch")
        self.assertEqual(checkpoints(self.model_dir), [45, 60, 75, 90, 105])

    def test_the_pipeline_can_be_cut_anywhere(self):
        results = []
        for position in (1, 10, 17):
            with tempfile.TemporaryDirectory() as folder:
                results.append(self.train(
                    PIPELINE, "--samples", 80, "--batch-size", 2, "--epochs", 1,
                    "--gradient-accumulation-count", 4, "--model-shard-position", position,
                    model_dir=folder, steps="8 steps per execution, 40 per epoch"))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_a_signal_ends_training_with_a_checkpoint(self):
        flags = ["--data", str(self.data), "--model-dir", self.model_dir, "--batch-size", "4",
                 "--epochs", "1000"]
        with subprocess.Popen([self.folder / PROGRAMS[0], *flags], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if "loss" in line:  # the first execution is done
                    break
            process.send_signal(signal.SIGINT)
            text, errors = process.communicate()
        self.assertEqual(process.returncode, 75, text + errors)
        self.assertRegex(text, rf"Stopped after step \d+ of 150000; .* {self.model_dir} ")
        self.assertNotIn("Check the result", text)
        step = checkpoints(self.model_dir)[-1]
        self.assertIn(f"after step {step} of", text)
        epochs = step // 150 + 1
        self.train(PROGRAMS[0], "--batch-size", 4, "--epochs", epochs)
        self.assertEqual(checkpoints(self.model_dir)[-1], 150 * epochs)

    def test_wrong_flags(self):
        for program, flags, words in (
                (PIPELINE, ("--model_shard_position", 0), ("model-shard-position", "'0'", "17")),
                (PIPELINE, ("--model-shard-position", 18), ("model-shard-position", "'18'", "17")),
                (PIPELINE, ("--gradient-accumulation-count", 0), ("gradient-accumulation-count",)),
                (PIPELINE, ("--devices", 1), ("devices", "at least 2")),
                (PROGRAMS[1], ("--ipus", 0), ("--replicas", "at least 1")),
                (PROGRAMS[0], ("--ipus", 2), ("--ipus", "unknown")),
                (PROGRAMS[0], ("--epochs", 0), ("--epochs", "at least 1")),
                (PROGRAMS[0], ("--batch-size", "many"), ("--batch-size", "many"))):
            with self.subTest(flags):
                self.expect_failure(2, words, program, *flags)

    def test_too_few_images_for_an_execution(self):
        for program, flags in ((PROGRAMS[0], ("--batch-size", 121)),
                               (PIPELINE, ("--batch-size", 16))):
            with self.subTest(program):
                self.expect_failure(2, ("--batch-size", "120 test images", "--samples"), program,
                                    "--data", self.data, *flags)

    def test_missing_data(self):
        self.expect_failure(1, ("nothing",), PROGRAMS[0], "--data", self.model_dir / "nothing")
        environment = dict(os.environ, PANDO_DATA=str(self.model_dir))
        self.expect_failure(2, ("CIFAR-10", "--no-download", str(self.model_dir), "--data"),
                            PROGRAMS[0], "--no-download", env=environment)

    def test_help(self):
        for program in PROGRAMS:
            text = self.run_program(program, "--help")
            self.assertIn("--no-download", text)
            for flag in ("--batch-size N", "--epochs N", "--data DIR", "--model-dir DIR"):
                self.assertIn(flag, text)
            self.assertEqual("--replicas N" in text, program == PROGRAMS[1])
            self.assertEqual("--model-shard-position N" in text, program == PIPELINE)


class Instances(DataTest):
    FLAGS = ("--samples", 100, "--batch-size", 4, "--epochs", 1)

    def run_job(self, program, instances):
        words = ["run", "--num-instances", instances, "--num-replicas", instances, "--",
                 self.folder / program, "--data", self.data, "--model-dir",
                 self.model_dir / f"job{instances}", *self.FLAGS]
        return subprocess.run([PANDO, *map(str, words)], capture_output=True, text=True,
                              check=False, timeout=300)

    def test_two_instances_train_as_two_replicas_of_one(self):
        alone = self.run_program(PROGRAMS[1], "--data", self.data, "--replicas", 2, "--model-dir",
                                 self.model_dir / "alone", *self.FLAGS)
        result = self.run_job(PROGRAMS[1], 2)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for line in alone.splitlines()[-2:]:  # accuracy and loss, which one instance prints
            self.assertEqual(result.stdout.count(line), 1, result.stdout)
        self.assertEqual(checkpoints(self.model_dir / "job2"),
                         checkpoints(self.model_dir / "alone"))

    def test_the_program_for_one_device_is_one_instance(self):
        result = self.run_job(PROGRAMS[0], 1)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("Validation accuracy", result.stdout)
        result = self.run_job(PROGRAMS[0], 2)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("CrossReplicaOptimizer", result.stdout + result.stderr)


class FullSize(ProgramTest):
    def test_accuracy_after_150_epochs(self):
        for program in PROGRAMS:
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                text = self.run_program(program, "--model-dir", folder)
                accuracy = self.expect_in_order(text, r"Validation accuracy: ([\d.]+)%")[0][1]
                self.assertAlmostEqual(float(accuracy), 81, delta=6)


def has_cifar10():
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--no-download", "--samples", "5", "--batch-size", "1", "--epochs", "1",
                 "--model-dir", folder)
        return subprocess.run([ProgramTest.folder / PROGRAMS[0], *flags], check=False,
                              capture_output=True).returncode == 0


if __name__ == "__main__":
    ProgramTest.folder, PANDO = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    if "FullSize" in sys.argv and not has_cifar10():
        sys.exit(print("CIFAR-10 is not on this machine") or 77)
    cifar10_support.unittest.main()
