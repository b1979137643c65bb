# Runs estimator_cnn and reads what it prints and writes.
# SPDX-License-Identifier: MIT
"""usage: estimator_cnn_test.py DIR    DIR is the folder of the built program"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cifar10_estimator"))
import cifar10_support  # noqa: E402
from cifar10_support import DataTest, ProgramTest, checkpoints  # noqa: E402

PROGRAM = "estimator_cnn"
SMALL = ("--batch-size", 4, "--batches-per-step", 25)  # 150 steps of training, 30 of testing
TRAINING = (r"Training\.\.\.", r"Took \d+\.\d\d seconds to compile and run")
TESTING = (r"Testing\.\.\.", "Evaluating on 120 examples",
           r"Took \d+\.\d\d seconds to compile and run", r"Test loss: [\d.e+-]+",
           r"Test accuracy: (\d+\.\d\d)%")


class EstimatorCnn(DataTest):
    def run_small(self, *flags):
        return self.run_program(PROGRAM, "--data", self.data, "--model-dir", self.model_dir,
                                *SMALL, *flags)

    def test_trains_and_tests(self):
        text = self.run_small("--epochs", 1, "--log-interval", 0)
        accuracy = self.expect_in_order(text, *TRAINING, *TESTING)[-1][1]
        self.assertGreater(float(accuracy), 90)
        # Exactly the whole executions, without another one.
        self.assertEqual(checkpoints(self.model_dir)[-1], 150)
        losses = [line for line in text.splitlines() if ": loss = " in line]
        self.assertEqual([line.split(":")[0] for line in losses],
                         [f"step {step}" for step in range(25, 151, 25)], text)
        self.assertRegex(text, "150 steps .*25 per execution: 1 epoch of 600 images")
        self.assertNotIn("note:", text)

    def test_steps_are_rounded_up_to_whole_executions(self):
        text = self.run_small("--epochs", 0.35, "--train-only")  # 52 batches
        self.assertEqual(checkpoints(self.model_dir)[-1], 75)
        self.assertNotIn("note:", text)

    def test_a_rounding_that_trains_more_than_twice_as_long_is_told(self):
        text = self.run_small("--samples", 20, "--epochs", 2, "--train-only")  # 10 batches
        self.assertRegex(text, "25 steps .*25 per execution: 5 epochs of 20 images\n"
                               r"note: .*2\.5 times .*--epochs")

    def test_train_only_then_test_only(self):
        text = self.run_small("--epochs", 0.5, "--train-only")
        self.expect_in_order(text, *TRAINING)
        self.assertNotIn("Testing", text)
        before = checkpoints(self.model_dir)
        first = self.run_small("--test-only")
        self.expect_in_order(first, *TESTING)
        self.assertNotIn("Training", first)
        self.assertEqual(checkpoints(self.model_dir), before)
        second = self.run_small("--test-only")
        self.assertEqual(first.splitlines()[-2:], second.splitlines()[-2:])

    def test_goes_on_from_the_checkpoint(self):
        self.run_small("--epochs", 0.5)
        text = self.run_small("--epochs", 1)
        self.expect_in_order(text, *TRAINING, *TESTING)
        self.assertEqual(checkpoints(self.model_dir)[-1], 150)

    def test_summaries_for_tensorboard(self):
        self.run_small("--epochs", 0.5)
        for folder in (self.model_dir, self.model_dir / "eval"):
            files = list(folder.glob("events.out.tfevents.*"))
            self.assertEqual(len(files), 1, folder)
            self.assertIn(b"loss", files[0].read_bytes())

    def test_profile_writes_reports(self):
        text = self.run_small("--epochs", 0.1, "--profile")
        for name in ("train_report", "eval_report"):
            report = self.model_dir / (name + ".txt")
            self.assertIn(f"Wrote profiling report to {report}", text)
            written = report.read_text()
            for word in ("compilation", "execution", "conv2d_3", "always live", "GF/s"):
                self.assertIn(word, written)
            figures = json.loads(report.with_suffix(".json").read_text())
            self.assertGreater(figures["execution"]["samples_per_second"], 0)
            self.assertTrue(figures["compilation"]["layers"])
            trace = self.model_dir / name.replace("report", "trace.json")
            self.assertTrue(json.loads(trace.read_text()))

    def test_generated_data(self):
        text = self.run_program(PROGRAM, "--generated-data", "--samples", 600, *SMALL, "--epochs",
                                0.5)
        matches = self.expect_in_order(text, *TRAINING, *TESTING)
        self.assertEqual(matches[-1][1], "100.00")  # all of one class

    def test_the_commands_of_the_original(self):
        more = ("--generated-data", "--samples", 500, "--epochs", 0.1)
        reports = self.model_dir / "reports"
        text = self.run_program(PROGRAM, "--batch-size", 16, "--batches-per-step", 500,
                                "--learning-rate", 0.001, "--model-dir", self.model_dir, *more)
        self.expect_in_order(text, *TRAINING, r"Testing\.\.\.", "Evaluating on 100 examples")
        self.assertEqual(checkpoints(self.model_dir)[-1], 500)
        text = self.run_program(PROGRAM, "--test-only", "--model-dir", self.model_dir, *more)
        self.assertIn("Test accuracy: 100.00%", text)
        self.run_program(PROGRAM, "--profile", "--model-dir", reports, *more, "--batches-per-step",
                         5)
        self.assertTrue((reports / "train_report.txt").is_file())

    def test_wrong_flags(self):
        empty = str(self.model_dir)
        for flags, words in (
                (("--test-only", "--train-only"), ("--test-only", "--train-only", "both")),
                (("--test-only",), ("--test-only", "--model-dir")),
                (("--test-only", "--model-dir", empty), (empty, "no checkpoint", "train first")),
                (("--test-only", "--model-dir", empty + "/no"), ("/no", "no checkpoint")),
                (("--data", empty, "--generated-data"), ("--data", "--generated-data", "both")),
                (("--epochs", 0), ("--epochs", "above 0")),
                (("--learning-rate", -1), ("--learning-rate", "above 0")),
                (("--batches-per-step", 0), ("--batches-per-step", "at least 1")),
                (("--log-interval", -1), ("--log-interval", "at least 0")),
                (("--generate-data",), ("--generated-data",))):
            with self.subTest(flags):
                self.expect_failure(2, words, PROGRAM, *flags)

    def test_help(self):
        for flag in ("-h", "--help"):
            text = self.run_program(PROGRAM, flag)
            for name in ("batch-size", "batches-per-step", "epochs", "learning-rate", "test-only",
                         "train-only", "log-interval", "summary-interval", "model-dir", "profile",
                         "generated-data", "data"):
                self.assertIn(f"--{name} ", text)


if __name__ == "__main__":
    ProgramTest.folder = pathlib.Path(sys.argv.pop(1)).resolve()
    cifar10_support.unittest.main()
