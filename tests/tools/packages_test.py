# Tests the lists of Debian packages: what only the server needs must not slow down the first build.
# SPDX-License-Identifier: MIT
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def packages(name):
    lines = (ROOT / "tools" / name).read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


class Lists(unittest.TestCase):
    def test_the_server_has_a_list_of_its_own(self):
        ordinary = packages("debian-packages.txt")
        serving = packages("debian-packages-serve.txt")
        self.assertTrue(serving)
        self.assertFalse(set(serving) & set(ordinary))
        for name in ordinary:
            self.assertIsNone(re.match(r"libboost|libgrpc|libnghttp2|libprotobuf|protobuf|libsimdjson", name),
                              f"{name} belongs to tools/debian-packages-serve.txt")

    def test_the_board_needs_less_than_the_server(self):
        board = packages("debian-packages-board.txt")
        self.assertTrue(board)
        self.assertLess(set(board), set(packages("debian-packages-serve.txt")))
        for name in board:
            self.assertIsNone(re.match(r"libgrpc|libnghttp2|libprotobuf|protobuf", name), name)

    def test_the_library_uses_nothing_of_the_server(self):
        """What the library is linked with is in the first list."""
        table = (ROOT / "cmake/pando_foreign.cmake").read_text()
        package_of = dict(re.findall(r'^  "(\w+): \S+ \S+ (\S+)"', table, re.M))
        serving = set(packages("debian-packages-serve.txt"))
        for path in (ROOT / "src/pando").glob("*/CMakeLists.txt"):
            module = path.read_text()
            if "SERVER" in module.split("SOURCES")[0].split("HOT")[0]:
                continue
            for call in re.findall(r"FOREIGN ([^)]*)\)", module):
                used = {package_of.get(name) for name in call.split()}
                self.assertFalse(used & serving, path)


if __name__ == "__main__":
    unittest.main()
