"""Runs the binary with the same arguments and streams."""

import os
import subprocess
import sys

from pisess import find_binary


def main() -> None:
    try:
        binary = str(find_binary())
    except FileNotFoundError as error:
        print(f"pisess: {error} (hint: install pisess again)", file=sys.stderr)
        sys.exit(2)
    command = [binary, *sys.argv[1:]]
    if os.name != "nt":
        os.execv(binary, command)
    try:
        code = subprocess.run(command).returncode
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


main()
