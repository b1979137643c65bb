# Tests tools/run_doc_snippets on small documents, with a small library in place of pando. The tests
# of the documents show that it works with the real one.
# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/run_doc_snippets"
PROGRAM = """#include <pando/base/error.h>
int main() { try { throw pando::InvalidArgument("x"); } catch (const pando::Error&) { return %d; } }
"""


def block(language, code, mark=""):
    return f"Text.\n\n{mark}\n```{language}\n{code}\n```\n\n"


def run_tool(document, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "page.md")
        path.write_text(document)
        prefix = pathlib.Path(folder, "prefix")
        make_prefix(prefix)
        return subprocess.run([sys.executable, TOOL, "--prefix", prefix, *arguments, path],
                              capture_output=True, text=True, check=False)


def make_prefix(folder):
    """Makes an installation whose program fails if its first argument is `bad`."""
    files = {
        "bin/pando": '#!/bin/sh\necho "ran $*"\ntest "$1" != bad\n',
        "include/pando/base/error.h": "#pragma once\n#include <stdexcept>\nnamespace pando { struct Error : "
            "std::runtime_error { using runtime_error::runtime_error; }; using InvalidArgument = "
            "Error; }\n",
        "include/pando/pando.h": "#pragma once\n#include <initializer_list>\nnamespace pando { struct Shape { "
            "Shape(std::initializer_list<int>) {} int rank() const { return 1; } }; }\n",
        "lib/cmake/pando/pandoConfig.cmake": "add_library(pando::pando INTERFACE IMPORTED)\n"
            "target_include_directories(pando::pando INTERFACE "
            "${CMAKE_CURRENT_LIST_DIR}/../../../include)\n"}
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    pathlib.Path(folder, "bin/pando").chmod(0o755)


class RunDocSnippets(unittest.TestCase):
    def expect(self, result, code, text):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(text, result.stdout)

    def shell(self, language, code, mark="<!-- test -->"):
        return run_tool(block(language, code, mark))

    def test_programs_are_compiled_and_run(self):
        result = run_tool(block("cpp", PROGRAM % 0) + block("cpp", PROGRAM % 3))
        self.expect(result, 1, "failed (3)")
        self.expect(result, 1, "2 programs, 0 scripts, 1 failed")

    def test_compile_error_names_the_line_of_the_document(self):
        result = run_tool(block("cpp", "int main() {\n  return nothing;\n}"))
        self.expect(result, 1, "page.md:6:")

    def test_part_of_a_program_wants_a_mark(self):
        self.expect(run_tool(block("cpp", "f();")), 1, "cpp block without main()")
        marked = run_tool(block("cpp", "f();", "<!-- no-test: shows a call -->"))
        self.expect(marked, 0, "0 programs, 0 scripts, 0 failed")

    def test_mark_wants_a_reason(self):
        self.expect(run_tool(block("cpp", "f();", "<!-- no-test -->")), 1, "reason")

    def test_scripts(self):
        self.expect(self.shell("sh", "./pando good\npando good"), 0, "1 scripts, 0 failed")
        self.expect(self.shell("sh", "pando bad\ntrue"), 1, "failed (1)\nran bad")
        self.expect(self.shell("sh", "pando bad", mark=""), 0, "0 scripts")

    def test_console_runs_the_prompted_lines(self):
        self.expect(self.shell("console", "$ pando good \\\n>   more\noutput"), 0, "1 scripts, 0")
        self.expect(self.shell("console", "$ true\n$ pando bad"), 1, "ran bad")
        self.expect(self.shell("console", "output only"), 1, "without a line that starts with")

    def test_shown_output_has_to_be_printed(self):
        program = '#include <cstdio>\nint main() { std::puts("one  \\ntwo"); }'
        document = "".join(block("cpp", program) + block("text", shown, "<!-- output -->")
                           for shown in ("one\ntwo", "one\nthree", "one"))
        result = run_tool(document)
        self.expect(result, 1, "3 programs, 0 scripts, 2 failed")
        for line, failed in ((5, False), (21, True), (37, True)):
            self.assertEqual(f"page.md:{line}: failed" in result.stdout, failed, result.stdout)

    def test_programs_share_the_header_of_the_library(self):
        program = "#include <pando/pando.h>\nint main() { return pando::Shape({%d}).rank() - 1; }"
        result = run_tool(block("cpp", program % 2) + block("cpp", program % 3))
        self.expect(result, 0, "2 programs, 0 scripts, 0 failed")

    def test_programs_run_as_instances(self):
        document = block("cpp", "int main() {}", "<!-- test: instances=3 -->") + \
            block("text", "something else", "<!-- output -->")
        result = run_tool(document)
        self.expect(result, 1, "1 programs, 0 scripts, 1 failed")
        self.assertRegex(result.stdout, "\nran run --num-instances=3 -- .*/build/page_5\n")
        wrong = block("cpp", "int main() {}", "<!-- test: instances=0 -->")
        self.expect(run_tool(wrong), 1, "instances=N, got 'instances=0'")

    def test_a_build_can_be_shared(self):
        with tempfile.TemporaryDirectory() as folder:
            document = block("cpp", PROGRAM % 3)
            self.expect(run_tool(document, "--build", folder), 0, "")
            self.expect(run_tool(document, "--built", folder), 1, "failed (3)")
            self.expect(run_tool(block("cpp", "int main() { wrong }"), "--build", folder), 1,
                        "page.md:5:")

    def test_a_document_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bad.md")
            path.write_text(block("sh", "exit 1", "<!-- test -->"))
            other = pathlib.Path(folder, "other.md")
            other.write_text("")
            for left_out in ((path,), (other, path)):
                words = [word for name in left_out for word in ("--except", name)]
                result = run_tool("", *words, path)
                self.expect(result, 0, "0 programs, 0 scripts, 0 failed")

    def test_output_wants_a_program(self):
        shown = block("text", "one", "<!-- output -->")
        self.expect(run_tool(shown), 1, "tested cpp block")
        self.expect(run_tool(block("cpp", "f();", "<!-- no-test: part -->") + shown), 1,
                    "tested cpp block")

    def test_scripts_find_the_examples(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "some").mkdir()
            document = block("sh", "test -d build/release/examples/some", "<!-- test -->")
            self.expect(run_tool(document, "--examples", folder), 0, "1 scripts, 0 failed")
            self.expect(run_tool(document), 1, "1 scripts, 1 failed")

    def test_untestable_language_and_open_block(self):
        self.expect(self.shell("yaml", "a: 1"), 1, "cannot test a block of 'yaml'")
        self.expect(run_tool("```cpp\nint main() {}\n"), 1, "block without an end")

    def test_list_runs_nothing(self):
        result = run_tool(block("sh", "exit 1", "<!-- test -->"), "--list")
        self.expect(result, 0, "shell   sh      ")


if __name__ == "__main__":
    unittest.main()
