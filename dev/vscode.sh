#!/bin/sh
# Install the VS Code server that dev/vscode pins, without running any package's own scripts.
set -eu
folder=.build/vscode
rm -rf "$folder"
mkdir -p "$folder"
cp dev/vscode/package.json dev/vscode/package-lock.json .npmrc "$folder"
cd "$folder"
npm ci --ignore-scripts --no-audit --no-fund
cd node_modules/code-server/lib/vscode
# Its shrinkwrap names packages of development, which `npm ci` stumbles over.
npm install --omit=dev --ignore-scripts --no-audit --no-fund
cp ../../../../../../dev/vscode/spdlog.js node_modules/@vscode/spdlog/index.js
cd ../../../..
touch .ready
