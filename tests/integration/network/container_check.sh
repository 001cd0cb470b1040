#!/usr/bin/env bash
# tests/integration/network/container_check.sh - hoopd in a container, workers outside
#
# container_check.sh BUILD: builds the image from a static hoopd, which starts
# only with a token or if it is told to be open; runs the commands of docs/ci.md;
# then an image in the OCI format, which has no health check of its own: that of
# compose.yaml tells a hoopd that serves from one that does not; and under
# podman-compose, with a token that deploy/secret.sh makes, two jobs at once and a
# third. Exits with 77 where podman cannot run, unless HOOP_REQUIRE_CONTAINER is
# set.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../../.."

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
export PATH=$build/tools/hoopctl:$PATH
unset HOOP_TOKEN HOOP_TOKEN_FILE HOOP_INSECURE_OPEN
# Not the token that this tree may serve with.
deploy=$scratch/deploy

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

echo '== without a token it does not start, and says in one line what to set'
started=0
podman run --rm --network host hoopd >"$scratch/output" 2>&1 || started=$?
cat "$scratch/output"
grep ' hoopd ' "$scratch/output" >"$scratch/refused" # podman talks, too
[ "$started" = 1 ]
[ "$(wc -l <"$scratch/refused")" = 1 ]
grep 'HOOP_TOKEN.*HOOP_TOKEN_FILE.*HOOP_INSECURE_OPEN=1' "$scratch/refused"

# starts_with WORDS OPTION...: in a container; its log has the words.
starts_with() {
  local words=$1 listen
  shift
  listen=0.0.0.0:$(tests/integration/network/free_port.py)
  podman run -d --name trial --network host -e HOOP_LISTEN="$listen" \
    -e HOOP_HTTP=none "$@" hoopd
  timeout 20 sh -c 'until podman exec trial /hoopd --check; do sleep 0.1; done'
  podman logs trial >"$scratch/trial" 2>&1
  grep "$words" "$scratch/trial"
  podman rm -f trial
}
echo '== it starts with a token, by a variable or a file, or if it is open'
(umask 077 && echo secret >"$scratch/token" && chown 65532 "$scratch/token")
starts_with 'one token for every job' -e HOOP_TOKEN=secret
starts_with 'one token for every job' -e HOOP_TOKEN_FILE=/token \
  -v "$scratch/token:/token:ro"
starts_with 'anybody who can connect' -e HOOP_INSECURE_OPEN=1

echo '== the commands of docs/ci.md'
sed -n '/^```sh$/,/^```$/{/^```/d;p}' docs/ci.md >"$scratch/ci.sh"
[ -s "$scratch/ci.sh" ]
bash -eux "$scratch/ci.sh"

echo '== the health check of compose.yaml, with an image that has none of its own'
podman build --format oci -t hoopd -f deploy/Containerfile deploy/image
[ "$(podman inspect -f '{{.HealthCheck}}' hoopd)" = '<nil>' ]
# podman takes the list of a CMD without that word.
health=$(sed -n 's/^ *test: \["CMD", /[/p' deploy/compose.yaml)
[ -n "$health" ]
podman run -d --name trial --network host -e HOOP_TOKEN=secret \
  -e HOOP_LISTEN="127.0.0.1:$(tests/integration/network/free_port.py)" \
  -e HOOP_HTTP="127.0.0.1:$(tests/integration/network/free_port.py)" \
  --health-cmd "$health" --health-interval disable hoopd
timeout 60 sh -c 'until podman healthcheck run trial; do sleep 0.1; done'
trial=$(podman inspect -f '{{.State.Pid}}' trial)
kill -STOP "$trial"
if podman healthcheck run trial; then exit 1; fi
kill -CONT "$trial"
timeout 60 sh -c 'until podman healthcheck run trial; do sleep 0.1; done'
podman rm -f trial

echo '== podman-compose'
HOOPD_PORT=$(tests/integration/network/free_port.py)
HOOPD_HTTP_PORT=$(tests/integration/network/free_port.py)
export HOOPD_PORT HOOPD_HTTP_PORT
http=http://127.0.0.1:$HOOPD_HTTP_PORT
cp -r deploy "$deploy"
rm -f "$deploy/.env"
if podman-compose -p "$project" -f "$deploy/compose.yaml" up -d; then
  podman ps -q | grep . && exit 1
fi
podman-compose -p "$project" -f "$deploy/compose.yaml" down || true
"$deploy/secret.sh"
[ "$(stat -c %a "$deploy/.env")" = 600 ]
cp "$deploy/.env" "$scratch/first"
"$deploy/secret.sh"
cmp "$deploy/.env" "$scratch/first"
podman-compose -p "$project" -f "$deploy/compose.yaml" up -d
timeout 60 sh -c "until curl -fsS $http/readyz; do sleep 0.1; done"

if hoopctl -c "127.0.0.1:$HOOPD_PORT" status; then exit 1; fi
set -a
# shellcheck disable=SC1091
. "$deploy/.env"
set +a
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
# Tokens are for TLS, or for its own host: asked inside of the container.
metrics_token=$(hoopctl token metrics)
refused=$(curl -sS -o "$scratch/refused" -w '%{http_code}' \
  -H "Authorization: Bearer $metrics_token" "$http/metrics")
[ "$refused" = 403 ]
inside=$(podman inspect -f '{{.State.Pid}}' "$container")
nsenter -t "$inside" -n curl -fsS -H "Authorization: Bearer $metrics_token" \
  http://127.0.0.1:4668/metrics | tee "$scratch/metrics" | grep '^hoop_\(jobs\|members\|worlds\)'
grep -qx 'hoop_worlds_formed_total 3' "$scratch/metrics"

echo '== killed, and started again on its volume'
podman kill -s KILL "$container"
podman start "$container"
timeout 60 sh -c "until curl -fsS $http/readyz; do sleep 0.1; done"
perf four broadcast
podman stop "$container"
[ "$(podman inspect -f '{{.State.ExitCode}}' "$container")" = 0 ]
podman-compose -p "$project" -f "$deploy/compose.yaml" down
echo 'container_check.sh: ok'
