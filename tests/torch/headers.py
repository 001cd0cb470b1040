"""tests/torch/headers.py - hoop_torch compiles with the headers of another torch, of which nothing is installed

headers.py BUILD VERSION    BUILD: a build folder with torch, which says how it is compiled
"""

import concurrent.futures
import glob
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import zipfile

SOURCES = pathlib.Path(__file__).parents[2] / "python/torch/src"


def _fetch(version, folder):
    """The include folder of that version's wheel: its libraries would be gigabytes with what they need."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", folder, f"torch=={version}"], check=True)
    (wheel,) = glob.glob(f"{folder}/*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder, [name for name in packed.namelist() if name.startswith("torch/include/")])
    os.unlink(wheel)
    return f"{folder}/torch/include"


def _command(build, include):
    """The compiler and its flags, with the headers in that folder in place of those that the build has."""
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8"))
    said = shlex.split(next(each["command"] for each in commands if each["file"].endswith("torch/src/backend.cpp")))
    flags = [
        flag for flag in said if flag.startswith(("-D", "-W", "-std=", "-fvis")) and flag != "-DHOOP_TORCH_RECONFIGURE"
    ]
    folders = [said[i + 1] for i, flag in enumerate(said) if flag == "-isystem" and "/torch/include" not in said[i + 1]]
    folders += [include, f"{include}/torch/csrc/api/include"]
    own = [f"-I{SOURCES}", f"-I{SOURCES.parents[2] / 'include'}"]
    return ["g++", *flags, *own, *(word for folder in folders for word in ("-isystem", folder))]


def _compiles(command, *arguments):
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)


def main(build, version):
    """Tells what does not compile; 1 if there is something."""
    with tempfile.TemporaryDirectory(prefix="hoop-torch-") as folder:
        command = _command(build, _fetch(version, folder))
        sources = set(SOURCES.glob("*.cpp"))
        if _compiles(command, "-fsyntax-only", SOURCES / "has/reconfigure.cpp").returncode == 0:
            command.append("-DHOOP_TORCH_RECONFIGURE")
        else:
            sources.remove(SOURCES / "reconfigure.cpp")
        # Most of what compiling takes is torch's headers.
        made = _compiles(command, "-x", "c++-header", SOURCES / "pch/torch.hpp", "-o", f"{folder}/torch.hpp.gch")
        command += [f"-I{folder}", "-include", "torch.hpp", "-fsyntax-only"]
        pathlib.Path(folder, "torch.hpp").write_bytes((SOURCES / "pch/torch.hpp").read_bytes())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = [made, *pool.map(lambda source: _compiles(command, source), sorted(sources))]
    failed = [each for each in done if each.returncode != 0]
    for each in failed:
        print(each.stderr, file=sys.stderr)
    print(f"torch {version}:", *[flag for flag in command if flag.startswith("-DHOOP_TORCH_")])
    print(f"{len(done) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
