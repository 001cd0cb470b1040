#!/usr/bin/env python3
"""bench/torch/run.py - torch.distributed over hoop beside Gloo, same processes, in turns

run.py BUILD [--short] [--rounds N]: BUILD has been set up with -Dpython=enabled,
-Dtorch=enabled and -Dbuildtype=release, and built. Needs the torch that it was built
for in the Python that runs it, and an otherwise idle machine. A number is the median
over rounds. Writes docs/benchmarks/torch.md, and the same as a section of
docs/benchmarks.md; with --short it prints that instead.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {8: "8 B", 1 << 10: "1 KiB", 32 << 10: "32 KiB", 1 << 20: "1 MiB", 64 << 20: "64 MiB"}
REPETITIONS = {8: "500x9", 1 << 10: "500x9", 32 << 10: "100x9", 1 << 20: "20x9", 64 << 20: "1x5"}
STEPS = {"mlp": "10x15", "transformer": "4x9"}
MODELS = {"mlp": "MLP, 1.05 M parameters", "transformer": "transformer, 4.9 M parameters"}
RANKS = (2, 4)
SECONDS = 500  # for one program
TITLE = "## From torch.distributed"


def schedule(is_short):
    """What measure.py takes: {what: how}."""
    rows = ",".join(f"{size}:{'2x3' if is_short else REPETITIONS[size]}" for size in SIZES)
    return {"collectives": rows, **({name: "1x3" for name in STEPS} if is_short else STEPS)}


def output(build, n, *command):
    """What n ranks print."""
    return subprocess.run(
        [str(build / "tools/hooprun/hooprun"), "-n", str(n), "--no-prefix", *command],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "HOOP_TRANSPORT": "shm",
            "PYTHONPATH": str(build / "python/package"),
        },
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout


def c_call(build, n, is_short):
    """us of the C call that allreduces 8 B."""
    repetitions = "20x3" if is_short else "5000x15"
    said = output(build, n, str(build / "bench/bench_hoop"), "hoop", "c", "allreduce", f"8:{repetitions}")
    row = next(line.split(",") for line in said.splitlines() if line.count(",") >= 5)
    return float(row[5])


def measured(build, n, is_short):
    """(what, who, bytes, us) of all, once."""
    yield "allreduce", "C", 8, c_call(build, n, is_short)
    for what, rows in schedule(is_short).items():
        print(f"{what}, {n} ranks", file=sys.stderr)
        script = str(ROOT / "bench/torch/measure.py")
        for line in output(build, n, sys.executable, "-B", script, what, rows).splitlines():
            name, who, size, us = line.split(",")
            yield name, who, int(size), float(us)


def text(number):
    """Three digits."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def collectives(n, medians):
    """Markdown of {(what, who, bytes): us}."""
    yield f"\n| hoop / Gloo, us, {n} ranks | {' | '.join(SIZES.values())} |"
    yield "|---|" + "---:|" * len(SIZES)
    names = dict.fromkeys(what for what, _, _ in medians if what not in MODELS)
    for name in names:
        cells = []
        for size in SIZES:
            ours, theirs = (medians.get((name, who, size)) for who in ("hoop", "gloo"))
            cells.append(f"{text(ours)} / {text(theirs)} = **{ours / theirs:.2f}**" if ours else "")
        yield f"| {name} | {' | '.join(cells)} |"


def steps(found):
    """Markdown of what DDP adds, of {n: medians}."""
    yield "\n| a step of DDP, ms | alone | silent | hoop | Gloo | hoop adds | Gloo adds | hoop's / Gloo's | beyond silent |"
    yield "|---|" + "---:|" * 8
    for name, title in MODELS.items():
        for n, medians in found.items():
            alone, mute, ours, theirs = (
                medians[name, who, 0] / 1000 for who in ("alone", "silent", "hoop", "gloo")
            )
            cells = [*map(text, (alone, mute, ours, theirs, ours - alone, theirs - alone))]
            ratios = [f"**{(ours - least) / (theirs - least):.2f}**" for least in (alone, mute)]
            yield f"| {title}, {n} ranks | {' | '.join(cells + ratios)} |"


def overhead(found):
    """Markdown of what torch adds to the C call."""
    yield "\n| allreduce of 8 B, us | the C call | by torch | more |"
    yield "|---|---:|---:|---:|"
    for n, medians in found.items():
        ours, c = medians["allreduce", "hoop", 8], medians["allreduce", "C", 8]
        yield f"| {n} ranks | {text(c)} | {text(ours)} | **{ours - c:+.3g}** |"


def section(found, rounds, load, torch_version):
    """The section of the document."""
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout.strip()
    yield TITLE
    yield "\nThe backend `hoop` compared with Gloo, for float32 between ranks that share memory, with one thread each. Both run in"
    yield "the same processes, in turns. The numbers are medians over rounds of medians over batches, and a batch lasts as long"
    yield "as its slowest rank. Sizes are those of the larger buffer. What DDP adds is the time of a step minus that of a step of"
    yield "the model alone, in the same turns; silent is DDP with a hook that communicates nothing. The losses are compared."
    yield "`bench/torch/run.py` writes this section."
    for n, medians in found.items():
        yield from collectives(n, medians)
    yield from steps(found)
    yield from overhead(found)
    yield f"\n{time.strftime('%Y-%m-%d %H:%M')}, {commit}, {rounds} rounds, load {load:.1f} before; torch {torch_version}."


def write(made):
    """As a file of its own, which bench/compare/report.py takes in, and into the document."""
    (ROOT / "docs/benchmarks/torch.md").write_text(made, encoding="utf-8")
    page = ROOT / "docs/benchmarks.md"
    whole = page.read_text(encoding="utf-8")
    without = re.sub(rf"\n{TITLE}\n.*?(?=\n## |\Z)", "", whole, flags=re.S)
    page.write_text(without.rstrip("\n") + "\n\n" + made, encoding="utf-8")


def main():
    """Measures, and writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    options = parser.parse_args()
    build, rounds, load = options.build.resolve(), options.rounds or (1 if options.short else 5), os.getloadavg()[0]
    times = {n: {} for n in RANKS}
    for _ in range(rounds):
        for n in RANKS:
            for what, who, size, us in measured(build, n, options.short):
                times[n].setdefault((what, who, size), []).append(us)
    found = {n: {key: statistics.median(us) for key, us in of_n.items()} for n, of_n in times.items()}
    import torch

    made = "\n".join(section(found, rounds, load, torch.__version__)) + "\n"
    if options.short:
        print(made)
    else:
        write(made)


if __name__ == "__main__":
    main()
