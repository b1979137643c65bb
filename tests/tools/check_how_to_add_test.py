# Tests tools/check_how_to_add on small trees with one list of records.
# SPDX-License-Identifier: MIT
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_how_to_add"
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("check_how_to_add", str(TOOL))
SPEC = importlib.util.spec_from_loader("check_how_to_add", LOADER)
tool = importlib.util.module_from_spec(SPEC)
sys.modules["check_how_to_add"] = tool
LOADER.exec_module(tool)

LIST = "Table table = {relu_op(), scale_op()};\n"
RECORD = 'OpDef relu_op() { return {.name = "relu"}; }\n'


def problems(files, words=()):
    """What the tool says about a tree with the list, the record of relu and these files."""
    kind = tool.Kind(what="the op", lists="ops/all_ops.cc", record=re.compile(r"\b(\w+)_op\(\)"),
                     home="its OpDef", allowed=[("ops/*", tool.ALL, "the record")],
                     words=list(words))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"ops/all_ops.cc": LIST, "ops/relu.cc": RECORD, **files}.items():
            path = root / "src/pando" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(tool.check(root, [kind]))


class CheckHowToAdd(unittest.TestCase):
    def test_names_in_their_record(self):
        self.assertEqual(problems({}), [])

    def test_name_elsewhere(self):
        found = problems({"compiler/x.cc": 'int a;\nbool b = op == "relu";\n'})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/pando/compiler/x.cc:2: names the op 'relu'"))
        self.assertIn("its OpDef", found[0])

    def test_headers_and_inc_files_too(self):
        for name in ("nn/x.h", "kernels/x.inc"):
            self.assertEqual(len(problems({name: 'const char* a = "relu";\n'})), 1)

    def test_other_literals(self):
        self.assertEqual(problems({"nn/x.cc": 'f("relu_grad", "a relu", "re\\"lu", "");\n'}), [])

    def test_comments_do_not_count(self):
        self.assertEqual(problems({"nn/x.cc": '// "relu"\n/* "relu"\n"relu" */\n'}), [])

    def test_quotes_as_characters(self):
        self.assertEqual(len(problems({"nn/x.cc": "char a = '\"'; f(\"relu\");\n"})), 1)

    def test_slashes_in_literals(self):
        self.assertEqual(len(problems({"nn/x.cc": 'f("http://a", "relu");\n'})), 1)

    def test_names_that_are_other_words(self):
        word = ("nn/x.cc", {"scale"}, "an attribute")
        self.assertEqual(problems({"nn/x.cc": 'f("scale");\n'}, [word]), [])
        self.assertEqual(len(problems({"nn/x.cc": 'f("scale", "relu");\n'}, [word])), 1)

    def test_allowances_that_nothing_needs(self):
        found = problems({"nn/x.cc": "int a;\n"}, [("nn/x.cc", {"relu"}, "a reason")])
        self.assertEqual(len(found), 1)
        self.assertIn("no op needs the allowance of nn/x.cc", found[0])

    def test_list_without_records(self):
        found = problems({"ops/all_ops.cc": "\n"})
        self.assertEqual(len(found), 1)
        self.assertIn("src/pando/ops/all_ops.cc: found no record", found[0])

    def test_list_of_places(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "src/pando/ops/all_ops.cc"
            path.parent.mkdir(parents=True)
            path.write_text(LIST)
            (path.parent / "relu.cc").write_text(RECORD)
            result = subprocess.run([sys.executable, TOOL, "--root", folder, "--list", "relu"],
                                    capture_output=True, text=True, check=False)
        self.assertEqual((result.stdout, result.returncode), ("op relu: ops/relu.cc:1\n", 0))


if __name__ == "__main__":
    unittest.main()
