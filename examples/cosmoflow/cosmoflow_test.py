# Runs the program cosmoflow and reads what it prints and writes.
# SPDX-License-Identifier: MIT
"""usage: cosmoflow_test.py COSMOFLOW PANDO [Cosmoflow|Learning|Instances]

Cosmoflow trains small networks on small volumes; Learning checks that a network beats the mean of
the training targets; Instances runs the program with `pando run`.
"""
import os
import pathlib
import re
import sys
import unittest

import cosmoflow_support as support
from cosmoflow_support import SMALL, Programs, call, table_of


class Cosmoflow(Programs):
    def test_training_with_a_model(self):
        text = self.run_program(self.write_config())
        losses = self.check_output(text, loops=12, samples_per_step=1)
        self.assertLess(losses[-1], losses[0] / 4)
        self.assertIn("optimizer:\n  name: SGD", (self.out / "config.yaml").read_text())
        self.assertTrue((self.out / "weights.h5").is_file())

    def test_training_with_an_estimator(self):
        config = self.write_config(n_valid=2)
        text = self.run_program(config, "--use-estimator")
        losses = self.check_output(text, loops=12, samples_per_step=1)
        self.assertLess(losses[-1], losses[0] / 4)
        self.assertRegex(text, r"Validation on 2 samples: loss [\d.e-]+, mae [\d.e-]+; mae of the "
                               r"mean of the training targets 0\.")
        self.assertIn("Global step 26,", text)  # the loop of the warm-up counts
        written = (self.out / "estimator_throughput.txt").read_text()
        self.assertEqual(table_of(written), table_of(text))
        self.assertTrue((self.out / "model/model.ckpt-26.h5").is_file())
        again = self.run_program(config, "--use-estimator")  # nothing is left
        self.assertIn("No training: global step 26 of 26 is done", again)
        self.assertNotIn("Executing", again)
        self.assertEqual(re.findall("^Validation.*", again, re.M),
                         re.findall("^Validation.*", text, re.M))
        self.assertEqual((self.out / "estimator_throughput.txt").read_text(), written)
        more = self.run_program(config, "--use-estimator", "--n-epochs", 4)
        self.assertIn("from global step 26 of 34", more)
        self.check_output(more, loops=3, samples_per_step=1)  # and one of warm-up
        self.assertIn("Global step 34,", more)

    def test_both_styles_train_alike(self):
        """The estimator's warm-up is its first loop, so its next loop is the model's second."""
        config = self.write_config()
        model = self.check_output(self.run_program(config), 12, 1)
        estimator = self.check_output(self.run_program(config, "--use-estimator"), 12, 1)
        self.assertEqual(model[1:], estimator[:-1])

    def test_the_warm_up_changes_nothing(self):
        """The warm-up has as many steps as a loop, up to ten; all runs end with equal weights."""
        config = self.write_config()
        weights = set()
        for loop in (1, 3, 12):
            self.run_program(config, "--iterations-per-loop", loop)
            weights.add((self.out / "weights.h5").read_bytes())
        self.assertEqual(len(weights), 1)

    def test_every_flag_takes_effect(self):
        volumes = self.make_volumes(8)
        config = self.write_config(name="cosmo", data=f"  data_dir: {self.folder}/none")
        flags = {"n-train": 6, "n-valid": 2, "micro-batch-size": 2, "n-epochs": 4, "apply-log": 0,
                 "staged-files": 1, "conv-size": 3, "fc1-size": 5, "fc2-size": 6,
                 "hidden-activation": "ReLU", "dropout": 0.1, "optimizer": "Adam", "lr": 0.01,
                 "iterations-per-loop": 3, "num-ipus": 1, "data-dir": volumes,
                 "output-dir": self.folder / "other"}
        words = [word for name, value in flags.items() for word in (f"--{name}", value)]
        text = self.run_program(config, *words, "-v", "--print-fom")
        self.check_output(text, loops=4, samples_per_step=2, batch=2)
        effective = (self.folder / "other/config.yaml").read_text()
        for name, value in flags.items():
            key = {"optimizer": "name", "num-ipus": "num_devices"}.get(name, name.replace("-", "_"))
            wanted = {"apply-log": "false", "staged-files": "true"}.get(name, str(value))
            self.assertRegex(effective, rf"\b{key}: {re.escape(wanted)}\n", effective)
        # The network that -v shows: convolutions of 3 and 6 filters, dense layers of 5 and 6.
        for shape in (r"8, 8, 8, 3\)", r"4, 4, 4, 6\)", r"None, 5\)", r"None, 6\)"):
            self.assertRegex(text, shape)
        self.assertRegex(text, r"\nFOM: samples_per_second [\d.]+, val_loss [\d.e-]+, "
                               r"val_mae [\d.e-]+\n")
        self.assertFalse(self.out.exists())
        again = self.folder / "other/config.yaml"  # what was written can be read
        self.assertEqual(call(again, "--data-benchmark").returncode, 0)

    def test_values_of_the_configuration_change_the_training(self):
        """Optimizer, rate, activation and so on take effect: the losses differ."""
        volumes = self.make_volumes(8)
        config = self.write_config(name="cosmo", data=f"  data_dir: {volumes}")
        seen = {}
        for words in ((), ("--optimizer", "Adadelta"), ("--lr", 0.01), ("--dropout", 0.5),
                      ("--hidden-activation", "tanh"), ("--apply-log", 0)):
            losses = tuple(self.check_output(self.run_program(config, *words), 12, 1))
            self.assertNotIn(losses, seen, f"{words} as {seen.get(losses)}")
            seen[losses] = words
        staged = tuple(self.check_output(self.run_program(config, "--staged-files", 1), 12, 1))
        self.assertEqual(seen[staged], ())

    def test_all_models_train(self):
        # Without padding, two layers reduce 7 voxels to one. The residual network normalises one
        # voxel of 16 at its end, so it needs a batch.
        for model, side, batch in (("cosmoflow", 8, 1), ("cosmoflow_v1", 7, 1), ("resnet", 16, 16)):
            with self.subTest(model):
                volumes = self.make_volumes(side, train=16)
                config = self.write_config(name="cosmo", model=model, side=side, batch=batch,
                                           data=f"  data_dir: {volumes}")
                text = self.run_program(config, "--n-train", 16, "--n-epochs", 15, "--optimizer",
                                        "Adam", "--lr", 0.0005 if batch > 1 else 0.01,
                                        "--iterations-per-loop", 16 // batch)
                losses = self.check_output(text, loops=15, samples_per_step=batch, batch=batch)
                self.assertLess(losses[-1], losses[0] / 2)

    def test_two_replicas(self):
        config = self.write_config()
        text = self.run_program(config, "--num-devices", 2, "--iterations-per-loop", 2)
        self.check_output(text, loops=6, samples_per_step=2, devices=2)
        self.assertRegex(text, r"num_devices: 2")
        many = 4 * (os.cpu_count() or 1)
        text = self.run_program(config, "--num-devices", many, "--iterations-per-loop", 1,
                                "--n-train", many)
        self.assertRegex(text, rf"(?m)^note: {many} replicas share \d+ cores?$")
        text = self.run_program(config, "--num-ipus", 2, "--use-estimator")
        self.check_output(text, loops=6, samples_per_step=2, devices=2)

    def test_rate_scaling(self):
        scaled = SMALL.replace("lr: 0.1", "lr: 0.1\n  lr_scaling: linear")
        losses = []
        for text, rate in ((scaled, 0.1), (SMALL, 0.2)):
            output = self.run_program(self.write_config(text=text), "--num-devices", 2, "--lr", rate)
            losses.append(self.check_output(output, 6, 2, devices=2))
        self.assertEqual(losses[0], losses[1])

    def test_validation_after_every_epoch_of_whole_loops(self):
        volumes = self.make_volumes(8)
        config = self.write_config(name="cosmo", n_valid=4, data=f"  data_dir: {volumes}")
        text = self.run_program(config)
        self.assertEqual(re.findall(r"^Epoch (\d): validation loss", text, re.M), ["1", "2", "3"])
        text = self.run_program(config, "--iterations-per-loop", 5)
        self.assertRegex(text, r"(?m)^note: .*\b24 steps, 4 loops of 5; the last 4\b")
        self.assertNotIn("Epoch 1", text)
        self.assertIn("Validation on 4 samples", text)

    def test_data_benchmark(self):
        text = self.run_program(self.write_config(), "--data-benchmark", "--n-train", 20)
        lines = text.splitlines()
        rows = lines[lines.index("Epoch, Bandwidth(GB/s), Samples/Second") + 1:-1]
        self.assertEqual([row.split(", ")[0] for row in rows], [str(i) for i in range(1, 11)])
        for row in rows:
            self.assertRegex(row, r"^\d+, \d+\.\d+, \d+\.\d+$")
            # Each sample of 8 KiB is really made; samples ready in a queue would be much faster.
            self.assertLess(float(row.split(", ")[1]), 1000)
        self.assertFalse(self.out.exists())

    def test_the_default_configuration(self):
        text = self.run_program("--n-train", 2, "--n-epochs", 1, "--iterations-per-loop", 1,
                                "--output-dir", self.out)
        self.check_output(text, loops=2, samples_per_step=1)
        for line in ("  sample_shape: [64, 64, 64, 4]", "  name: Adadelta", "  dropout: 0.2"):
            self.assertIn(line, text)

    def test_a_signal_stops_after_the_weight_update(self):
        config = self.write_config()
        for style, kept in (((), "weights.h5"), (("--use-estimator",), "model/checkpoint")):
            rest, _ = self.interrupt(support.COSMOFLOW, config, "--n-epochs", 20000, *style)
            last = rest.splitlines()[-1]
            self.assertRegex(last, "^Stopped by SIGINT before the end")
            self.assertTrue((self.out / kept).is_file())
        step = int(re.search("; the same command .* from global step (\\d+)$", last)[1])
        epochs = step // 8 + 2  # with the two steps of warm-up, 6 to 13 steps are left
        text = self.run_program(config, "--use-estimator", "--n-epochs", epochs)
        self.assertIn(f"from global step {step} of {8 * epochs + 2} in", text)
        self.assertIn(f"Global step {8 * epochs + 2},", text)

    def test_a_disk_that_takes_no_weights_loses_no_figures(self):
        (self.out / "weights.h5").mkdir(parents=True)
        result = call(self.write_config(), "--print-fom")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.check_output(result.stdout, loops=12, samples_per_step=1)
        self.assertIn("FOM: ", result.stdout)
        self.assertNotIn("All done!", result.stdout)
        self.assertIn("cosmoflow: error: ", result.stderr)
        self.assertIn("weights.h5", result.stderr)

    def test_wrong_usage(self):
        config = self.write_config()
        for words, message in (
                (("--n-trian", 1), "'--n-train'"),
                (("--n-train", "many"), "--n-train: .*'many'"),
                (("--dropout", 1), "below 1"),
                (("--optimizer", "Adadeltas"), "Adadelta"),
                (("--hidden-activation", "selu"), "LeakyReLU"),
                (("--use-estimator", "--data-benchmark"), "--use-estimator and --data-benchmark"),
                (("--iterations-per-loop", 25), r"3 \* 8 // \(1 \* 1\) = 24, fewer than"),
                (("--use-estimator", "--iterations-per-loop", 5), "--iterations-per-loop 4"),
                (("--micro-batch-size", 25), r"\) = 0; .*--n-train"),
                (("--data-dir", "here"), "data_dir is 'here'.*dummy"),
                (("more",), "more")):
            with self.subTest(words):
                result = call(config, *words)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertRegex(result.stderr, message)
                self.assertFalse(self.out.exists())

    def test_wrong_configurations(self):
        for text, message in (
                ("data: {n_trian: 1}", "config.yaml:1:8: data: 'n_trian'.*'n_train'"),
                ("dta: 1", "config.yaml:1:1: 'dta'"),
                ("data:\n  n_train: few\n", "config.yaml:2:3: data: n_train: .*'few'"),
                ("data:\n  sample_shape: [8, 8, 8]", r"config.yaml:2:3: data: sample_shape is "
                 r"\[8, 8, 8\], .*\[depth, height, width, channels\]"),
                ("data: {sample_shape: 16}", r"config.yaml:1:8: data: sample_shape is \[16\]"),
                ("data: {target_shape: [2, 2]}", r"target_shape is \[2, 2\], .*one number"),
                ("model: {input_shape: [8, 8, 8, 4]}", r"config.yaml:1:9: model: input_shape is "
                 r"\[8, 8, 8, 4\], .*\[64, 64"),
                ("model: {target_size: 3}", "target_size is 3, .*, 4"),
                ("model: {name: vgg}", "'vgg'"),
                ("model: {n_conv_layers: 7}", "7 .*layers"),
                ("data: {name: cosmo}", "config.yaml:1:8: data: name is cosmo.*--data-dir"),
                ("data: {samples_per_file: 2}", "samples_per_file is 2, .*1: each file"),
                ("optimizer: {name: Adam, momentum: 0.9}", "momentum .*adam"),
                ("train: {metrics: [auc]}", "'auc'"),
                ("train: {loss: hinge}", "'hinge'"),
                ("- 1", "lines of 'key: value'"),
                ("data: [", "config.yaml:1")):
            with self.subTest(text):
                result = call(self.write_config(text=text.replace("{", "{{").replace("}", "}}")))
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertRegex(result.stderr, message)
                self.assertTrue(result.stderr.startswith("cosmoflow: error: "), result.stderr)
        result = call(self.folder / "nothing.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing.yaml'", result.stderr)

    def test_data_and_folders_that_do_not_fit(self):
        volumes = self.make_volumes(8)
        config = self.write_config(name="cosmo", data=f"  data_dir: {volumes}", n_valid=4)
        for words, code, message in (
                (("--n-train", 7, "--micro-batch-size", 2), 2,
                 "samples_per_file * shards * micro_batch_size = 1 * 1 * 2 = 2"),
                (("--n-valid", 3, "--num-devices", 2), 2, "1 * 2 * 1 = 2"),
                (("--n-train", 9), 2, "volumes/8/train has 8 files"),
                (("--data-dir", self.folder / "none"), 1, "none/train"),
                (("--output-dir", config / "out"), 1, "output_dir: ")):
            with self.subTest(words):
                result = call(config, *words)
                self.assertEqual(result.returncode, code, result.stdout + result.stderr)
                self.assertIn(message, result.stderr)
        result = call(self.write_config(name="cosmo", side=4, data=f"  data_dir: {volumes}"))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("volumes/8/train", result.stderr)

    def test_help(self):
        for word in ("-h", "--help"):
            text = call(word).stdout
            for flag in ("--data-dir", "--print-fom", "--use-estimator", "alias --num-ipus"):
                self.assertIn(flag, text)

    def test_distributed_alone_is_told(self):
        text = self.run_program(self.write_config(), "-d")
        self.assertIn("note: --distributed: ", text)


class Learning(Programs):
    def test_unseen_volumes_are_predicted_better_than_by_the_mean(self):
        volumes = self.make_volumes(32, train=64, validation=16)
        text = self.run_program("configs/cosmo.yaml", "--data-dir", volumes, "--output-dir",
                                self.out, "--n-epochs", 15)
        found = re.search(r"Validation on 16 samples: loss [\d.e-]+, mae ([\d.e-]+); mae of the "
                          r"mean of the training targets ([\d.e-]+)", text)
        self.assertLess(float(found[1]), float(found[2]) / 2, text)


class Instances(Programs):
    # The same flags as in the original's instructions.
    JOB = ("run", "--num-replicas", 2, "--num-instances", 2, "--ipus-per-replica", 1,
           "--numa-aware", 1)

    def run_job(self, *words):
        """Runs a job; the launcher's tags are removed from the lines."""
        result = call(*self.JOB, support.COSMOFLOW, *words, program=support.PANDO)
        result.stdout = re.sub(r"^\[1,\d\]<std(out|err)>:", "", result.stdout, flags=re.M)
        return result

    def test_instances_train_as_the_replicas_of_one_process(self):
        config = self.write_config(n_valid=2)
        self.run_program(config, "--num-devices", 2)
        alone = (self.out / "weights.h5").read_bytes()
        result = self.run_job(config)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.check_output(result.stdout, loops=6, samples_per_step=2, devices=2)
        self.assertEqual(result.stdout.count("All done!"), 1)  # only one instance prints
        self.assertEqual((self.out / "weights.h5").read_bytes(), alone)

    def test_estimators_of_instances(self):
        config = self.write_config()
        alone = self.check_output(self.run_program(config, "--num-devices", 2, "--use-estimator"),
                                  6, 2, devices=2)
        (self.out / "model").rename(self.out / "alone")
        result = self.run_job(config, "--use-estimator")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(self.check_output(result.stdout, 6, 2, devices=2), alone)

    def test_the_data_of_files_are_shared(self):
        volumes = self.make_volumes(8)
        config = self.write_config(name="cosmo", n_valid=4, data=f"  data_dir: {volumes}")
        self.run_program(config, "--num-devices", 2)
        alone = (self.out / "weights.h5").read_bytes()
        result = self.run_job(config, "-d")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual((self.out / "weights.h5").read_bytes(), alone)
        result = self.run_job(config, "--data-benchmark")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("Epoch, Bandwidth(GB/s), Samples/Second", result.stdout)

    def test_what_is_wrong_is_told_once(self):
        result = self.run_job(self.write_config(), "--n-epochs", "x")
        self.assertEqual(result.returncode, 2)
        self.assertEqual((result.stdout + result.stderr).count("error: --n-epochs: "), 1)

    def test_a_signal_stops_all_of_them(self):
        for style in ((), ("--use-estimator",)):
            rest, errors = self.interrupt(support.PANDO, *self.JOB, support.COSMOFLOW,
                                          self.write_config(), "--n-epochs", 40000, *style)
            self.assertRegex(rest, r"Stopped by SIG\w+ before the end(; |\n)")
            self.assertRegex(errors, r"exit code 75")  # stopped, not failed

    def test_a_replica_is_one_device(self):
        result = call("run", "--num-replicas", 1, "--num-instances", 1, "--ipus-per-replica", 2,
                      support.COSMOFLOW, self.write_config(), program=support.PANDO)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("(--ipus-per-replica 1)", result.stdout + result.stderr)


if __name__ == "__main__":
    support.COSMOFLOW, support.PANDO = (
        str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
