"""Finds the binary of pisess that was installed with this package. `python -m pisess` runs it."""

import os
import sys
import sysconfig
from pathlib import Path

__all__ = ["find_binary"]


def find_binary() -> Path:
    """Returns the path of the binary; raises FileNotFoundError if it is not installed."""
    name = "pisess.exe" if os.name == "nt" else "pisess"
    folders = [Path(sysconfig.get_path("scripts"))]
    # `pip install --user`.
    user_scheme = "nt_user" if os.name == "nt" else "posix_user"
    if sys.platform == "darwin" and sys._framework:
        user_scheme = "osx_framework_user"
    folders.append(Path(sysconfig.get_path("scripts", scheme=user_scheme)))
    # `pip install --target` and `--prefix`, which Python does not know of.
    package = Path(__file__).resolve().parent
    folders.append(package.parent / "bin")
    if len(package.parents) > 3:
        folders.append(package.parents[3] / "bin")
    for folder in folders:
        binary = folder / name
        if binary.is_file():
            return binary
    raise FileNotFoundError(f"the binary {name} is not installed in " + ", ".join(map(str, folders)))
