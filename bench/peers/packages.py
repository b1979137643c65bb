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


def missing_packages(needed=None):
    return [name for name, proof in (needed or NEEDED).items() if not proof.exists()]


def install_command(names, root, has_sudo):
    """The command that installs `names`, or None if this user cannot install packages."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *names]
    if root:
        return command
    return ["sudo", *command] if has_sudo else None


def install_missing():
    names = missing_packages()
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
    if result.returncode != 0 or missing_packages():
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
