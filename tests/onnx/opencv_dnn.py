"""Runs an ONNX file by OpenCV's dnn. usage: opencv_dnn.py FILE.onnx INPUT OUTPUT CHANNELS HEIGHT WIDTH
SPDX-License-Identifier: MIT
"""
import sys

try:
    import cv2
    import numpy
except ImportError:
    sys.exit(77)

net = cv2.dnn.readNetFromONNX(sys.argv[1])
net.setInput(numpy.fromfile(sys.argv[2], numpy.float32).reshape([1] + [int(n) for n in sys.argv[4:]]))
net.forward().astype(numpy.float32).tofile(sys.argv[3])
