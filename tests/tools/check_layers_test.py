# Tests tools/check_layers on small trees, each with one violation or none.
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_layers"
LICENCE = "// SPDX-License-Identifier: MIT\n"
LAYERS = "# level: folders\n0: base\n1: tensor profile\n2: kernels\n3: store  # last\n"


def run_tool(files, *arguments, make_folders=True):
    """Runs the tool on a tree with the given files (path below the root -> text), to which the
    licence is added where the text does not speak of it."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        layers = files.get("src/LAYERS", LAYERS)
        for line in layers.splitlines() if make_folders else ():
            head, _, names = line.split("#")[0].partition(":")
            above = "" if head.isdigit() else head
            for folder in names.split():
                (root / "src/pando" / above / folder).mkdir(parents=True, exist_ok=True)
        for name, text in {"src/LAYERS": layers, **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            code = name.endswith((".cc", ".h")) and "SPDX" not in text
            (root / name).write_text(text + LICENCE if code else text)
        return subprocess.run([sys.executable, TOOL, "--root", root, *arguments],
                              capture_output=True, text=True, check=False)


class CheckLayers(unittest.TestCase):
    def expect_clean(self, name, text):
        result = run_tool({f"src/pando/{name}": text})
        self.assertEqual((result.stdout, result.returncode), ("", 0))

    def expect_problem(self, name, text, problem):
        result = run_tool({f"src/pando/{name}": text})
        self.assertEqual(result.returncode, 1)
        self.assertIn(problem, result.stdout)
        self.assertEqual(result.stdout.count("\n"), 1)

    def test_own_folder_and_lower_levels(self):
        self.expect_clean("tensor/a.cc", '#include "pando/tensor/a.h"\n#include "pando/base/b.h"\n')

    def test_higher_level(self):
        self.expect_problem("base/a.cc", '\n#include "pando/store/b.h"\n',
                            "src/pando/base/a.cc:2: base (level 0) may not include store (level 3)")

    def test_sibling(self):
        self.expect_problem("profile/a.cc", '#include "pando/tensor/b.h"\n',
                            "profile (level 1) may not include tensor (level 1)")

    def test_angle_brackets_do_not_hide_it(self):
        self.expect_problem("base/a.cc", "#  include <pando/store/b.h>\n", "may not include store")

    def test_rooms_of_a_folder(self):
        files = {"src/LAYERS": "0: base\nbase: low high\n",
                 "src/pando/base/low/a.cc": '#include "pando/base/high/b.h"\n',
                 "src/pando/base/high/b.cc": '#include "pando/base/low/a.h"\n',
                 "src/pando/base/c.cc": '#include "pando/base/high/b.h"\n'}
        result = run_tool(files)
        self.assertIn("base/low/a.cc:1: room base/low may not include base/high",
                      result.stdout)
        self.assertEqual(result.stdout.count("\n"), 1)

    def test_folders_that_do_not_exist(self):
        result = run_tool({"src/LAYERS": "0: base\n1: ghost\n", "src/pando/base/a.cc": "int x;\n"},
                          make_folders=False)
        self.assertIn("there is no folder src/pando/ghost", result.stdout)

    def test_unknown_folders(self):
        self.expect_problem("misc/a.cc", "int x;\n", "folder 'misc' is not in src/LAYERS")
        self.expect_problem("base/a.cc", '#include "pando/misc/b.h"\n', "folder 'misc', which is not")

    def test_relative_include(self):
        self.expect_problem("base/a.cc", '#include "b.h"\n', 'includes "b.h"')

    def test_umbrella_header(self):
        self.expect_clean("pando.h", '#pragma once\n#include "pando/store/b.h"\n')
        self.expect_problem("base/a.cc", '#include "pando/pando.h"\n', "for users of the library")

    def test_private_header(self):
        self.expect_clean("base/a.cc", '#include "pando/base/b_impl.h"\n')
        self.expect_problem("store/a.cc", '#include "pando/base/b_impl.h"\n', "private to base")

    def test_foreign_header_at_home(self):
        self.expect_clean("kernels/cpu/conv.cc", "#include <dnnl.hpp>\n")
        self.expect_clean("kernels/dnnl_impl.h", "#pragma once\n#include <dnnl.hpp>\n")
        self.expect_clean("store/hdf5_file.cc", "#include <hdf5.h>\n")

    def test_foreign_header_elsewhere(self):
        self.expect_problem("store/a.cc", "#include <dnnl.hpp>\n", "only kernels/*")
        self.expect_problem("store/a.cc", '#include "dnnl.hpp"\n', "only kernels/*")
        self.expect_problem("store/a.cc", "#include <hdf5.h>\n", "only store/hdf5*")

    def test_foreign_header_in_a_header(self):
        self.expect_problem("kernels/a.h", "#pragma once\n#include <dnnl.hpp>\n", "in a header")
        self.expect_problem("base/a.h", "#pragma once\n#include <fmt/core.h>\n", "in a header")

    def test_conditional(self):
        self.expect_problem("base/a.h", "#pragma once\n#ifdef WITH_X\n#endif\n", "on WITH_X in")
        self.expect_problem("base/a.h", "#pragma once\n#if defined(__GNUC__) && \\\n  WITH_X\n#endif\n",
                            "depends on WITH_X in a header")
        self.expect_clean("base/a.h", "#pragma once\n#if defined(__GNUC__)\n#endif\n")
        self.expect_clean("base/a.cc", "#ifdef WITH_X\n#endif\n")

    def test_missing_pragma_once(self):
        self.expect_problem("base/a.h", "int x;\n", "has no #pragma once")

    def test_licence_on_a_line_of_its_own(self):
        self.expect_clean("base/a.cc", "// Purpose.\n" + LICENCE)
        self.expect_problem("base/a.cc", "// Purpose. SPDX-License-Identifier: MIT\n", "a.cc: expected")
        self.expect_problem("base/a.cc", "// Purpose. SPDX-License-Identifier:\n// MIT\n", "expected")
        result = run_tool({"src/pando/base/a.cc": "",
                           "tests/base/a_test.cc": "// B. SPDX-License-Identifier: MIT\n"})
        self.assertEqual(result.stdout.count("tests/base/a_test.cc: expected"), 1)

    def test_empty_tree_is_a_failure(self):
        self.assertEqual(run_tool({}).returncode, 1)

    def test_orphans(self):
        result = run_tool({"src/pando/base/a.cc": "", "src/pando/base/b.cc": "",
                           "src/pando/store/x/c.cc": "", "src/pando/store/x/d.cc": "",
                           "tests/base/a_test.cc": "", "tests/store/c_test.cc": ""}, "--orphans")
        self.assertEqual(result.stdout.split(), ["src/pando/base/b.cc", "src/pando/store/x/d.cc"])
        self.assertEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
