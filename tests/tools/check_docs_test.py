# Tests tools/check_docs on small trees, each with one problem or none.
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_docs"
LONG = "word " * 24 + "x"  # 121 columns


def run_tool(files, *arguments):
    """Runs the tool on a tree with the given files (path below the root -> text)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return subprocess.run([sys.executable, TOOL, "--root", root, *arguments],
                              capture_output=True, text=True, check=False)


class CheckDocs(unittest.TestCase):
    def expect_clean(self, text, files=(), *arguments):
        result = run_tool({"docs/a.md": text, **dict(files)}, *arguments)
        self.assertEqual((result.stdout, result.returncode), ("", 0), result.stderr)

    def expect_problem(self, text, problem, files=()):
        result = run_tool({"docs/a.md": text, **dict(files)})
        self.assertEqual(result.returncode, 1)
        self.assertIn(problem, result.stdout)
        self.assertEqual(result.stdout.count("\n"), 1)

    def test_line_of_120_columns(self):
        self.expect_clean(LONG[:120] + "\n")

    def test_longer_line(self):
        self.expect_problem(f"# A\n\n{LONG}\n", "docs/a.md:3: has 121 columns")

    def test_columns_are_characters(self):
        self.expect_clean("é" * 120 + "\n")

    def test_tables_and_fences_may_be_longer(self):
        self.expect_clean(f"| {LONG} |\n|---|\n")
        self.expect_clean(f"```sh\n{LONG}\n```\n")
        self.expect_clean(f"~~~\n```\n{LONG}\n~~~\n")

    def test_line_after_a_fence(self):
        self.expect_problem(f"```sh\n{LONG}\n```\n{LONG}\n", "docs/a.md:4: has 121 columns")

    def test_commands_in_fences_may_not(self):
        self.expect_problem(f"```console\n$ {LONG}\n```\n", "docs/a.md:2: has 123 columns")
        self.expect_problem(f"```console\n$ a \\\n> {LONG}\n```\n", "docs/a.md:3: has 123 columns")

    def test_generated_documents_may_not(self):
        self.expect_problem(f"<!-- Made by `x > docs/a.md`; do not edit. -->\n{LONG}\n", "a.md:2: ")

    def test_named_documents_may_be_longer(self):
        self.expect_clean(LONG, {}, "--long-lines", "docs/a.md")

    def test_link_to_a_file(self):
        self.expect_clean("[b](b.md), [c](../c.txt), [docs](../docs)", {"docs/b.md": "", "c.txt": ""})

    def test_link_to_no_file(self):
        self.expect_problem("\n[b](b.md)", "docs/a.md:2: links to b.md, but docs/b.md does not exist")

    def test_picture(self):
        self.expect_problem("![b](images/b.svg)", "docs/images/b.svg does not exist")

    def test_link_over_two_lines(self):
        self.expect_problem("see [the other\ndocument](b.md)", "docs/a.md:2: links to b.md")

    def test_anchor(self):
        headings = {"docs/b.md": "# One thing\n## `pando run`: start, stop\n## One thing\n## From C++\n"}
        self.expect_clean("[x](b.md#one-thing) [x](b.md#pando-run-start-stop) [x](b.md#one-thing-1) "
                          "[x](b.md#from-c)", headings)
        self.expect_clean("# Here\n[x](#here)")

    def test_anchor_without_heading(self):
        self.expect_problem("[x](b.md#two)", "docs/b.md has no heading for #two",
                            {"docs/b.md": "# One\n```sh\n# Two\n```\n"})
        self.expect_problem("# Here\n[x](#there)", "docs/a.md:2: links to #there")

    def test_other_sites_and_code_are_left_alone(self):
        self.expect_clean("[x](https://example.com/none) [x](mailto:a@b.c)")
        self.expect_clean("`v[0](none.md)` and\n```cpp\nv[0](none.md)\n```\n")

    def test_one_document(self):
        files = {"a.md": LONG, "b.md": "text\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, name).write_text(text)
            result = subprocess.run([sys.executable, TOOL, "--root", folder, f"{folder}/b.md"],
                                    capture_output=True, text=True, check=False)
        self.assertEqual((result.stdout, result.returncode), ("", 0))

    def test_build_and_hidden_folders_are_skipped(self):
        self.expect_clean("text\n", {"build/x.md": LONG, "third_party/y.md": LONG, ".git/z.md": LONG})

    def test_empty_tree_is_a_failure(self):
        self.assertEqual(run_tool({}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
