# Tests bench/peers without Pando: a fake program speaks the protocol of pando_peer.
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench/peers"
FAKE_PEER = ROOT / "tests/support/fake_peer.py"
sys.path.insert(0, str(PEERS))

import imported_files  # noqa: E402
import machine  # noqa: E402
import packages  # noqa: E402
import report  # noqa: E402
import onnx_file  # noqa: E402
import onnx_models  # noqa: E402
from sides import PandoSide, PeerError  # noqa: E402


class Protocol(unittest.TestCase):
    def start(self, fault="", flags=()):
        with mock.patch.dict(os.environ, {"FAKE_PEER": fault}):
            side = PandoSide(FAKE_PEER, "mnist_cnn", 64, 2, *flags)
        self.addCleanup(side.close)
        return side

    def test_runs_and_quits(self):
        side = self.start()
        self.assertEqual(side.info["parameters"], 34826)
        self.assertEqual((side.info["batch"], side.info["threads"]), (64, 2))
        self.assertAlmostEqual(side.run(30), 0.030)
        side.close()
        self.assertEqual(side.process.returncode, 0)

    def test_hands_flags_on(self):
        info = self.start(flags=("--size", "28", "--inference")).info
        self.assertEqual((info["size"], info["inference"]), (28, True))

    def test_blas_of_torch_is_not_handed_on(self):
        with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": f"{packages.BLAS_FOLDER}:/opt/x"}):
            self.assertEqual(self.start().info["library_path"], "/opt/x")

    def test_faults_while_starting(self):
        for fault, text in (("no_ready", "'hello'"), ("bad_json", "JSON")):
            with self.subTest(fault), self.assertRaisesRegex(PeerError, text):
                self.start(fault)

    def test_faults_while_running(self):
        for fault, text in (("die", "ended with status 3"), ("bad_seconds", "number after seconds"),
                            ("zero_seconds", "0.0 seconds for 5 steps")):
            side = self.start(fault)
            with self.subTest(fault), self.assertRaisesRegex(PeerError, text):
                side.run(5)


class ImportedFiles(unittest.TestCase):
    def prepare(self, name):
        with mock.patch.object(packages, "install_modules") as install, \
                mock.patch.object(subprocess, "run") as run:
            own, theirs = imported_files.prepare(imported_files.CASES[name], "pando", "/made")
        install.assert_called_once()
        return own, theirs, [call.args[0] for call in run.call_args_list]

    def test_both_sides_read_an_onnx_file(self):
        own, theirs, commands = self.prepare("text_detector")
        self.assertEqual(own, theirs)
        self.assertEqual(own.parts[-4:-2], ("@gutenye", "ocr-models"))
        self.assertEqual(commands, [])

    def test_a_keras_file_is_exported(self):
        own, theirs, commands = self.prepare("upscaler")
        self.assertEqual((own.name, theirs.name), ("model.json", "exported.onnx"))
        self.assertEqual(commands, [["pando", "export", str(own), "-o", str(theirs),
                                     "--image-size", "64"]])


def made_up_case(**changes):
    case = {"model": "mnist_cnn", "batch": 64, "mflop": 10.0, "peaks": [90.0, 100.0, 300.0],
            "rates": {"torch contiguous": [900.0, 1000.0, 1100.0],
                      "torch channels-last": [2000.0, 1900.0, 100.0],
                      "pando": [5700.0, 3800.0, 9000.0]},
            "other_cores": {"pando": 0.0}, "idle_cores": {"pando": 0.0}}
    return {**case, **changes}


class Report(unittest.TestCase):
    def test_medians_and_ratio_to_the_better_layout(self):
        result = report.summarise(made_up_case())
        self.assertEqual(result["best_peer"], "torch channels-last")
        self.assertAlmostEqual(result["ratio_of_best"], 9000 / 2000)
        self.assertAlmostEqual(result["ratio"], 5700 / 1900)
        self.assertEqual(result["ratio_rounds"], [2.85, 2.0, 90.0])
        self.assertAlmostEqual(result["gflops"], 57.0)
        self.assertAlmostEqual(result["peak_fraction"], 0.57)

    def test_table(self):
        lines = report.table([report.summarise(made_up_case())]).splitlines()
        cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
        self.assertEqual(cells, ["mnist_cnn", "64", "1000", "1900", "5700", "3.00 (2.00-90.00)",
                                 "57.0", "57 %"])
        self.assertEqual(len({len(line) for line in lines}), 1)

    def test_table_without_pando(self):
        case = made_up_case()
        del case["rates"]["pando"]
        line = report.table([report.summarise(case)]).splitlines()[2]
        self.assertEqual(line.count(" - |"), 4)

    def test_table_with_another_peer(self):
        rates = {"onnx runtime": [20.0, 25.0, 30.0], "pando": [30.0, 50.0, 60.0]}
        lines = report.table([report.summarise(made_up_case(rates=rates))]).splitlines()
        self.assertIn("onnx runtime /s", lines[0])
        self.assertIn("2.00 (1.50-2.00)", lines[2])

    def test_keeps_the_quietest_rounds_in_order(self):
        rounds = [{"other_cores": {"a": 0.0, "b": load}} for load in (0.9, 0.05, 0.3, 0.0)]
        self.assertTrue(report.quiet(rounds, 2))
        self.assertFalse(report.quiet(rounds, 3))
        kept = report.quietest(rounds, 3)
        self.assertEqual([entry["other_cores"]["b"] for entry in kept], [0.05, 0.3, 0.0])

    def test_warns_of_load(self):
        quiet = report.warnings([made_up_case()])
        self.assertEqual(quiet, [])
        loud = report.warnings([made_up_case(other_cores={"pando": 0.5})])
        self.assertEqual(len(loud), 1)
        self.assertIn("0.50 cores used by other processes while pando ran", loud[0])


class SpeedPage(unittest.TestCase):
    """Runs with given rates; the page is made as docs/performance.md is."""

    def make(self, folder, rates_of_pando, profiles=()):
        runs = []
        for number, rates in enumerate(rates_of_pando):
            case = report.summarise(made_up_case(rates={"torch contiguous": [100.0] * 3,
                                                        "pando": [rates] * 3}))
            document = {"mode": "training", "threads": 2, "cpu": "A & B", "cases": [case]}
            runs.append(pathlib.Path(folder, f"run{number}.json"))
            runs[-1].write_text(json.dumps(document))
        for model, flops, gflops in profiles:
            half = {"flops": flops / 2, "bytes": 5e8}
            pathlib.Path(folder, f"{model}_report.json").write_text(json.dumps({"execution": {
                "forward": half, "backward": half, "gflops": gflops,
                "peak": {"gflops": 400.0, "memory_gb_per_second": 40.0}}}))
        return subprocess.run([PEERS / "speed_page", "--images", folder, "--profiles", folder, *runs],
                              capture_output=True, text=True, check=False)

    def test_the_run_with_the_median_ratio_stands_for_all(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.make(folder, (500.0, 300.0, 400.0), [("mnist_cnn", 4e9, 80.0)])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| `mnist_cnn` | 64 | 100 | 400 | 4.00 | 5.00, 3.00, 4.00 | 4 % |", done.stdout)
            picture = xml.dom.minidom.parse(str(pathlib.Path(folder, "speed.svg")))
            self.assertIn("mnist_cnn 4.0", picture.documentElement.getAttribute("aria-label"))

    def test_rooflines(self):
        with tempfile.TemporaryDirectory() as folder:
            # 4 and 20 FLOP per byte: bound by the memory (160 GFLOP/s) and by the peak.
            done = self.make(folder, (), [("a", 4e9, 80.0), ("b", 20e9, 300.0)])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| `a` | 4.0 | 160 | 80 | 50 % |", done.stdout)
            self.assertIn("| `b` | 20.0 | 400 | 300 | 75 % |", done.stdout)
            picture = xml.dom.minidom.parse(str(pathlib.Path(folder, "roofline.svg")))
            self.assertEqual(len(picture.getElementsByTagName("circle")), 2)

    def test_a_folder_without_profiles(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.make(folder, ())
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected files *_report.json", done.stderr)


class Packages(unittest.TestCase):
    def test_names_what_is_missing(self):
        needed = {"there": FAKE_PEER, "absent": ROOT / "no such file"}
        self.assertEqual(packages.missing_packages(needed), ["absent"])

    def test_install_command(self):
        command = ["apt-get", "install", "-y", "--no-install-recommends", "a"]
        self.assertEqual(packages.install_command(["a"], True, False), command)
        self.assertEqual(packages.install_command(["a"], False, True), ["sudo", *command])
        self.assertIsNone(packages.install_command(["a"], False, False))

    def test_says_so_when_nothing_can_be_installed(self):
        with mock.patch.object(packages, "missing_packages", return_value=["python3-torch"]), \
             mock.patch.object(shutil, "which", return_value=None), \
             self.assertRaisesRegex(SystemExit, "python3-torch.*install"):
            packages.install_missing()


class OnnxFile(unittest.TestCase):
    def test_fields_of_protobuf(self):
        self.assertEqual(onnx_file.field(1, 300), b"\x08\xac\x02")
        self.assertEqual(onnx_file.field(2, "ab"), b"\x12\x02ab")
        self.assertEqual(onnx_file.field(2, 1.0), b"\x15\x00\x00\x80\x3f")
        self.assertEqual(len(onnx_file.varint(-1)), 10)

    def test_a_network(self):
        net = onnx_file.Network((1, 3, 8, 8))
        result = net.batch_norm(net.conv("x", 3, 4, kernel=3), 4)
        data = net.to_bytes(result, (1, 4, 8, 8))
        self.assertEqual(net.parameters, 4 * 3 * 9 + 4 + 4)
        for text in (b"Conv", b"BatchNormalization", b"kernel_shape", b"epsilon"):
            self.assertIn(text, data)
        self.assertGreater(len(data), 4 * (4 * 3 * 9 + 4 * 4))

    def test_bias_and_limits(self):
        net = onnx_file.Network((1, 8, 4, 4))
        result = net.clip(net.conv("x", 8, 8, kernel=3, groups=8, bias=True), 0.0, 6.0)
        data = net.to_bytes(result, (1, 8, 4, 4))
        self.assertEqual(net.parameters, 8 * 9 + 8)
        self.assertIn(b"Clip", data)
        self.assertIn(struct.pack("<f", 6.0), data)

    def test_networks_have_the_parameters_of_the_zoo(self):
        for name in onnx_models.CASES:
            with self.subTest(name):
                net, _ = onnx_models.build(name, 1)
                self.assertEqual(net.parameters, onnx_models.CASES[name].parameters)


class Machine(unittest.TestCase):
    def test_attributes_processor_time(self):
        with machine.CpuWatch(os.getpid(), os.getppid()) as watch:
            before = machine.process_seconds(os.getpid())
            while machine.process_seconds(os.getpid()) < before + 0.25:
                pass
        self.assertGreaterEqual(machine.busy_seconds(), machine.process_seconds(os.getpid()))
        self.assertGreaterEqual(watch.other_cores, 0.0)


def run_compare(*arguments, fault=""):
    return subprocess.run([PEERS / "compare", *arguments], capture_output=True, text=True,
                          check=False, env=dict(os.environ, FAKE_PEER=fault))


class Compare(unittest.TestCase):
    def test_asks_for_the_peer(self):
        result = run_compare("--build", "/nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("/nowhere/bin/pando_peer is missing", result.stderr)

    def test_onnx_runtime_does_not_train(self):
        result = run_compare("--torch-only", "--peer", "onnx")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--peer onnx requires --inference", result.stderr)

    def test_rejects_nonsense(self):
        for flag in ("--rounds", "--threads", "--batch", "--seconds"):
            with self.subTest(flag):
                result = run_compare("--torch-only", flag, "-1")
                self.assertEqual(result.returncode, 2)
                self.assertIn("must be positive", result.stderr)


class FirstAnswer(unittest.TestCase):
    """With programs that print given times instead of measuring."""

    def run_with(self, loaded, answered, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            binaries = pathlib.Path(folder, "bin")
            binaries.mkdir()
            result = {"parameters": 25557032, "loaded": [loaded, 0.1], "answered": [answered, 0.2]}
            for name, text in (("pando", "exit 0"),
                               ("pando_peer", f"echo '{json.dumps(result)}'")):
                (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
                (binaries / name).chmod(0o755)
            return subprocess.run([PEERS / "first_answer", "--build", folder, *arguments],
                                  capture_output=True, text=True, check=False)

    def test_prints_two_rows_per_file(self):
        done = self.run_with(0.5, 1.5, "--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("25,557,032 parameters", done.stdout)
        rows = re.findall(r"^\| (model\.\w+) \| (\w+) \| [\d. |]+$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), 8)
        self.assertIn("| model.keras | answered | 1.500 | 1.500 | 0.200 | 0.200 |", done.stdout)

    def test_fails_above_the_limits(self):
        done = self.run_with(1.25, 1.5)
        self.assertEqual(done.returncode, 1)
        self.assertIn("model.onnx: loaded after 1.25 s, expected at most 1.0 s", done.stderr)
        self.assertEqual(self.run_with(1.25, 1.5, "--most-loading", "1.3").returncode, 0)
        self.assertIn("answered after 2.50 s", self.run_with(0.5, 2.5).stderr)
        self.assertEqual(self.run_with(0.5, 1.5, "--rounds", "0").returncode, 2)


@unittest.skipIf(packages.missing_packages(), "PyTorch is not installed")
class CompareWithTorch(unittest.TestCase):
    def compare(self, *arguments, fault=""):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "bin").mkdir()
            (pathlib.Path(folder) / "bin/pando_peer").symlink_to(FAKE_PEER)
            return run_compare("--build", folder, "--rounds", "1", "--seconds", "0.05",
                               "--patience", "0", *arguments, fault=fault)

    def test_prints_a_row_per_model(self):
        result = self.compare("--models", "mnist_cnn", "cifar_resnet8", "--batch", "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = re.findall(r"^\| (\w+) +\| +4 \|.* 4000 \|", result.stdout, re.MULTILINE)
        self.assertEqual(rows, ["mnist_cnn", "cifar_resnet8"])

    def test_networks_have_the_parameters_of_the_zoo(self):
        import torch_models
        for name in ("mobilenet_v2", "unet", "resnet50"):
            with self.subTest(name):
                torch_models.build(name)

    def test_a_class_for_every_pixel(self):
        import torch_models
        x, y = torch_models.make_data("unet", 2)
        self.assertEqual((tuple(x.shape), tuple(y.shape)), ((2, 3, 128, 128), (2, 128, 128)))

    def test_refuses_another_model(self):
        result = self.compare("--models", "mnist_cnn", fault="other_model")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Pando has 34827 trainable parameters, the other side 34826", result.stderr)

    def test_unknown_model(self):
        result = self.compare("--models", "mnist_cn")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown model mnist_cn; known: mnist_cnn", result.stderr)


if __name__ == "__main__":
    unittest.main()
