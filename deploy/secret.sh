#!/bin/sh
# deploy/secret.sh - the token of the coordinator that deploy/compose.yaml starts
#
# Writes deploy/.env, which compose reads by itself, with 256 random bits as
# HOOP_TOKEN, for its owner alone. A file that is there already is left as it is.
set -eu
cd "$(dirname "$0")"
[ ! -e .env ] || exit 0
umask 077
token=$(od -An -N32 -v -tx1 /dev/urandom | tr -d ' \n')
printf 'HOOP_TOKEN=%s\n' "$token" >.env.new
mv .env.new .env
