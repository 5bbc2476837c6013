#!/bin/sh
# Make a virtual environment, or bring one up to date: python_environment.sh FOLDER PIP-ARGUMENT ...
set -eu
folder=$1
shift
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "There is no $python: install Python 3.11."; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "$python is $("$python" --version): Python 3.11 or newer is needed (PYTHON=... names another)."; exit 1; }

if [ ! -x "$folder/bin/pip" ]; then
  rm -rf "$folder"
  # Debian's python3 comes without what `venv` needs.
  if ! "$python" -m venv "$folder"; then
    rm -rf "$folder"
    sh dev/debian_package.sh "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    "$python" -m venv "$folder"
  fi
fi
"$folder/bin/pip" install --disable-pip-version-check "$@"
touch "$folder/.ready"
