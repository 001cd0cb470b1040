#!/usr/bin/env bash
# tests/integration/container_check.sh - hoopd in a container, workers outside
#
# container_check.sh BUILD: builds the image from a static hoopd; runs the
# commands of docs/ci.md; then the same image under podman-compose, with two
# jobs at once and a third. Exits with 77 where podman cannot run, unless
# HOOP_REQUIRE_CONTAINER is set.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."

refuse() {
  echo "container_check.sh: $1"
  [ -n "${HOOP_REQUIRE_CONTAINER-}" ] && exit 1
  exit 77
}

for program in podman podman-compose runc curl; do
  command -v "$program" >/dev/null || refuse "$program is not installed"
done

# Images and containers of our own, apart from those of the machine.
scratch=$(mktemp -d)
project=hoop_check_$$
cat >"$scratch/storage.conf" <<TOML
[storage]
driver = "vfs"
graphroot = "$scratch/root"
runroot = "$scratch/run"
TOML
export CONTAINERS_STORAGE_CONF=$scratch/storage.conf
export CONTAINERS_CONF=$PWD/deploy/containers.conf
export PATH=$build/tools/hooprun:$build/tools/hoop-perf:$PATH

clean_up() {
  status=$?
  if [ "$status" -ne 0 ]; then
    podman ps -aq | xargs -r -n 1 podman logs 2>&1 | tail -n 50
  fi
  podman rm -fa >/dev/null 2>&1 || true
  podman volume rm -fa >/dev/null 2>&1 || true
  podman network rm -f "${project}_default" >/dev/null 2>&1 || true
  podman rmi -fa >/dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap clean_up EXIT

podman info >"$scratch/info" 2>&1 || refuse "podman: $(tail -n 1 "$scratch/info")"

echo '== image'
deploy/build-static.sh
# What is released cannot be told to fail.
grep -q 'FAULT_BUILD = 0' build-static/common/fault/fault_build.h
podman build --format docker -t hoopd -f deploy/Containerfile deploy/image
podman run --rm --network host hoopd --version ||
  refuse 'podman cannot run a container'

echo '== the commands of docs/ci.md'
sed -n '/^```sh$/,/^```$/{/^```/d;p}' docs/ci.md >"$scratch/ci.sh"
[ -s "$scratch/ci.sh" ]
bash -eux "$scratch/ci.sh"

echo '== podman-compose'
HOOPD_PORT=$(tests/integration/free_port.py)
HOOPD_HTTP_PORT=$(tests/integration/free_port.py)
export HOOPD_PORT HOOPD_HTTP_PORT
http=http://127.0.0.1:$HOOPD_HTTP_PORT
podman-compose -p "$project" -f deploy/compose.yaml up -d
timeout 60 sh -c "until curl -fsS $http/readyz; do sleep 0.1; done"

# perf JOB OP: two workers of a job, joined by address.
perf() {
  HOOP_JOB=$1 hooprun -n 2 --coordinator "127.0.0.1:$HOOPD_PORT" \
    hoop-perf --op "$2" --min 8 --max 64K --factor 8 --iters 2 --check
}
perf one allreduce &
one=$!
perf two reduce_scatter
wait "$one"
perf three allgather

container=$(podman ps -q)
curl -fsS "$http/metrics" | tee "$scratch/metrics" | grep '^hoop_\(jobs\|members\|worlds\)'
grep -qx 'hoop_worlds_formed_total 3' "$scratch/metrics"

echo '== killed, and started again on its volume'
podman kill -s KILL "$container"
podman start "$container"
timeout 60 sh -c "until curl -fsS $http/readyz; do sleep 0.1; done"
perf four broadcast
podman stop "$container"
[ "$(podman inspect -f '{{.State.ExitCode}}' "$container")" = 0 ]
podman-compose -p "$project" -f deploy/compose.yaml down
echo 'container_check.sh: ok'
