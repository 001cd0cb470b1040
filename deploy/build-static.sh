#!/bin/sh
# deploy/build-static.sh - hoopd without any library beside it, for containers
#
# Leaves deploy/image/hoopd, what deploy/Containerfile puts into the image.
set -eu
cd "$(dirname "$0")/.."
if [ ! -f build-static/build.ninja ]; then
  meson setup build-static -Dbuildtype=release -Dprefer_static=true \
    -Ddefault_library=static -Dc_link_args=-static
fi
ninja -C build-static server/hoopd
mkdir -p deploy/image/data
# hoopd refuses a data folder that others can write.
chmod 755 deploy/image/data
strip -o deploy/image/hoopd build-static/server/hoopd
