"""python/torch/hoop_torch/__main__.py - runs a script with hoop in place of the backends that it asks for

python -m hoop_torch --as nccl,gloo SCRIPT ARGUMENT...
python -m hoop_torch --as nccl,gloo -m MODULE ARGUMENT...
torchrun ... -m hoop_torch --as nccl SCRIPT ARGUMENT...

If hoop_torch is installed, HOOP_TORCH_AS=nccl,gloo in the environment has the same effect;
this program sets it for child processes.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from hoop_torch import _replace


def main() -> None:
    """Run the script with sys.argv as the script expects it."""
    parser = argparse.ArgumentParser(
        prog="python -m hoop_torch",
        description="Run a script with hoop in place of the backends of torch.distributed that it asks for.",
    )
    parser.add_argument("--as", dest="names", metavar="NAMES", help="nccl, gloo, or both: nccl,gloo", required=True)
    parser.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    try:
        names = ",".join(_replace.parse(given.names))
    except ValueError as error:
        parser.error(f"--as: {error}")
    if not given.is_module and not os.path.exists(given.script):
        parser.error(f"{given.script}: there is no such file")
    os.environ["HOOP_TORCH_AS"] = names
    _replace.replace(names)
    sys.argv = [given.script, *given.arguments]
    if given.is_module:
        # python -m sets the same path.
        sys.path[0] = os.getcwd()
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(given.script))
        runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
