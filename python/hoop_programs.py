"""python/hoop_programs.py - hooprun, hoopd and the others on PATH

They lie in the package, where they find its libraries; this takes their place. It
lies beside the package, whose import nobody has to wait for.
"""

import os
import sys


def main() -> None:
    """Executes the program that the script is named after."""
    name = os.path.basename(sys.argv[0])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hoop", "bin", name)
    os.execv(path, [name, *sys.argv[1:]])
