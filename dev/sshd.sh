#!/bin/sh
# Install OpenSSH's server for the tests, which start one of their own on loopback.
# Where it cannot be installed they are skipped, so this never fails.
set -u
if PATH="$PATH:/usr/sbin" command -v sshd; then
  exit 0
fi
if ! sh dev/debian_package.sh openssh-server; then
  echo 'The tests over ssh will be skipped.'
  exit 0
fi
# Nobody asked for a server that the network can reach: Debian's package would start one.
if command -v systemctl >/dev/null; then
  systemctl disable --now ssh.service ssh.socket 2>/dev/null || true
fi
