# Makes the Debian package of a build, unpacks it into an empty folder and trains with it.
# usage: package_test.py BUILD_DIRECTORY
# SPDX-License-Identifier: MIT
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **options)


def expect(condition, what, result=None):
    if not condition:
        detail = f"\n{result.args}\n{result.stdout}\n{result.stderr}" if result else ""
        sys.exit(f"package_test: {what}{detail}")


def make_package(build, folder):
    made = run("cpack", "--config", build / "CPackConfig.cmake", "-B", folder, cwd=build)
    packages = list(folder.glob("pando_*.deb"))
    expect(made.returncode == 0 and len(packages) == 1, "cpack did not make one package", made)
    return packages[0]


def check_control(package):
    depends = run("dpkg-deb", "-f", package, "Depends").stdout
    for library in ("libc6", "libdnnl2", "libhdf5"):
        expect(library in depends, f"the package does not depend on {library}: {depends}")


def check_training(root, folder):
    program = root / "usr/bin/pando"
    trained = run(program, "train", "--weight-updates-per-epoch", "3", "--num-epochs", "1",
                  "--run-dir", "run", cwd=folder)
    expect(trained.returncode == 0, "pando train of the package failed", trained)
    expect("test accuracy" in trained.stdout, "training printed no test accuracy", trained)
    expect((folder / "run/history.csv").exists(), "training wrote no history")


# NOTICE names where the presets and the values of the CosmoFlow example come from.
def check_notice(root):
    folder = root / "usr/share/doc/pando"
    expect((folder / "LICENSE").exists(), "the package has no LICENSE")
    notice = (folder / "NOTICE").read_text(encoding="utf-8")
    for word in ("Graphcore", "Keras", "MIT", "Apache", "presets.yml", "graphcore.yaml"):
        expect(word in notice, f"NOTICE does not name {word}")
    presets = (root / "usr/share/pando/presets.yml").read_text(encoding="utf-8")
    expect("NOTICE" in presets, "presets.yml does not refer to NOTICE")


def check_manual(root):
    pages = {path.name for path in (root / "usr/share/man/man1").iterdir()}
    expect({"pando.1", "pando-train.1", "pando-run.1", "pando-data-verify.1"} <= pages,
           f"pages are missing: {sorted(pages)}")
    if shutil.which("man"):
        page = run("man", "--warnings", "-l", root / "usr/share/man/man1/pando-train.1")
        expect("--micro-batch-size" in page.stdout.replace("‐", "-"), "man shows no flags", page)


def check_completion(root):
    script = (root / "usr/share/bash-completion/completions/pando").read_text()
    program = root / "usr/bin/pando"
    result = run("bash", "-c", f"{script}\nCOMP_WORDS=({program} train --model mni); COMP_CWORD=3\n"
                 "_pando; printf '%s\\n' \"${COMPREPLY[@]}\"")
    expect(result.stdout == "mnist_cnn\n", "the completion does not know the models", result)


def check_development(root):
    for name in ("usr/include/pando/pando.h", "usr/lib/libpando.a",
                 "usr/lib/cmake/pando/pandoConfig.cmake"):
        expect((root / name).exists(), f"{name} is not in the package")
    for name in ("board", "http", "serve", "rest", "grpc", "request", "server"):
        expect(not list((root / "usr/include/pando" / name).glob("*.h")),
               f"headers of {name} are in the package, but not what they declare")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not all(shutil.which(tool) for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps")):
        print("package_test: needs cpack, dpkg-deb and dpkg-shlibdeps")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = make_package(build, folder / "made")
        check_control(package)
        root = folder / "root"
        expect(run("dpkg-deb", "-x", package, root).returncode == 0, "the package does not unpack")
        check_development(root)
        check_notice(root)
        check_manual(root)
        check_completion(root)
        check_training(root, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
