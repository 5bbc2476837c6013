#!/bin/sh
# Install Debian packages where this user may: debian_package.sh PACKAGE ...
set -eu
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "Missing: $*. Install it (on Debian, as root: apt-get install $*) and run make again."
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends "$@"
