"""Checks all ONNX files of a folder by python3-onnx, types and shapes included.
usage: check_onnx.py FOLDER
SPDX-License-Identifier: MIT
"""
import pathlib
import sys

try:
    import onnx
except ImportError:
    sys.exit(77)

bad = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        bad += 1
        print(f"{path.name}: {error}")
sys.exit(1 if bad else 0)
