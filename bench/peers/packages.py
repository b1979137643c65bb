# The Debian packages that the comparison needs, and the environment in which PyTorch is fastest.
# SPDX-License-Identifier: MIT
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

# libtorch loads whatever libblas.so.3 the system has. The reference BLAS makes the dense layers
# and CosmoFlow several times slower, and OpenBLAS built with pthreads competes with libgomp for
# the cores; OpenBLAS built with OpenMP shares libgomp's threads.
BLAS_FOLDER = pathlib.Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "",
                           "openblas-openmp")
NEEDED = {"python3-torch": pathlib.Path("/usr/lib/python3/dist-packages/torch/__init__.py"),
          "libopenblas0-openmp": BLAS_FOLDER / "libblas.so.3"}
NODE = {"nodejs": pathlib.Path("/usr/bin/node"), "npm": pathlib.Path("/usr/bin/npm")}
HERE = pathlib.Path(__file__).resolve().parent
ONNX_RUNTIME = "onnxruntime-node@1.30.0"
ONNX_FOLDER = HERE.parent.parent / "build" / "peers"


def missing_packages(needed=None):
    return [name for name, proof in (needed or NEEDED).items() if not proof.exists()]


def install_command(names, root, has_sudo):
    """The command that installs `names`, or None if this user cannot install packages."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *names]
    if root:
        return command
    return ["sudo", *command] if has_sudo else None


def onnx_runtime():
    """The folder of the package onnxruntime-node, which carries ONNX Runtime for x86-64."""
    return ONNX_FOLDER / "node_modules" / "onnxruntime-node"


def module_folder(package):
    """Where a package, NAME@VERSION, is installed."""
    return ONNX_FOLDER / "node_modules" / package.rpartition("@")[0]


def install_onnx_runtime():
    """Installs the package into the build folder; its scripts do not run."""
    install_modules((ONNX_RUNTIME,))


def install_modules(wanted):
    """Installs packages of npm into the build folder; their scripts do not run."""
    install_missing(NODE)
    missing = [package for package in wanted if not module_folder(package).exists()]
    if not missing:
        return
    print(f'compare: installing {" ".join(missing)} into {ONNX_FOLDER}', file=sys.stderr)
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
               str(ONNX_FOLDER), *missing]
    ONNX_FOLDER.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(command, stdout=subprocess.DEVNULL)
    if result.returncode != 0 or not all(module_folder(package).exists() for package in missing):
        sys.exit(f'compare: `{" ".join(command)}` failed (status {result.returncode}); it needs '
                 f"a package registry")


def install_missing(needed=None):
    names = missing_packages(needed)
    if not names:
        return
    command = None
    if shutil.which("apt-get"):
        command = install_command(names, os.geteuid() == 0, shutil.which("sudo") is not None)
    if command is None:
        sys.exit(f'compare: needs the Debian packages {" ".join(names)}, which it cannot install '
                 f"(no apt-get, or neither root nor sudo); install them first")
    print(f'compare: installing {" ".join(names)}', file=sys.stderr)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    result = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
    if result.returncode != 0 or missing_packages(needed):
        sys.exit(f'compare: `{" ".join(command)}` failed (status {result.returncode}); '
                 f"`apt-get update` may help")


def restart_with_blas():
    """Restarts this program with OpenBLAS first in the library path; returns if it is there."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if str(BLAS_FOLDER) in folders:
        return
    path = ":".join([str(BLAS_FOLDER), *filter(None, folders)])
    environment = dict(os.environ, LD_LIBRARY_PATH=path)
    os.execve("/usr/bin/python3", ["/usr/bin/python3", *sys.argv], environment)


def environment_without_blas():
    """The environment for programs other than PyTorch."""
    environment = dict(os.environ)
    folders = environment.pop("LD_LIBRARY_PATH", "").split(":")
    rest = [folder for folder in folders if folder and folder != str(BLAS_FOLDER)]
    if rest:
        environment["LD_LIBRARY_PATH"] = ":".join(rest)
    return environment
