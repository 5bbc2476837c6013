#!/bin/sh
# Install Emacs and Eglot for the test that runs what docs/editors.md says about them.
# Where they cannot be installed it is skipped, so this never fails.
set -u
has_eglot() {
  command -v emacs && emacs --batch --eval "(require 'eglot)" >/dev/null 2>&1
}
if has_eglot; then
  exit 0
fi
# Eglot is part of Emacs from 29 on; before that Debian has it as a package.
if ! sh dev/debian_package.sh emacs-nox elpa-eglot || ! has_eglot; then
  echo 'The test in Emacs will be skipped.'
fi
