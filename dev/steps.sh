#!/bin/sh
# Make targets one after the other, one line each: steps.sh "LABEL=TARGET" ...
# What a step prints goes to .build/logs; where it fails, the end of its log is shown.
set -u
mkdir -p .build/logs
count=$#
number=0
for step in "$@"; do
  number=$((number + 1))
  label=${step%=*}
  target=${step##*=}
  if ${MAKE:-make} --question "$target" >/dev/null 2>&1; then
    printf '[%d/%d] %s ... ready\n' "$number" "$count" "$label"
    continue
  fi
  printf '[%d/%d] %s ... ' "$number" "$count" "$label"
  log=.build/logs/$(printf '%s' "$label" | tr ' A-Z' '-a-z' | tr -cd 'a-z0-9.-').log
  start=$(date +%s)
  if ${MAKE:-make} --no-print-directory "$target" >"$log" 2>&1 </dev/null; then
    printf 'done (%d s)\n' "$(($(date +%s) - start))"
  else
    printf 'failed (%d s). The end of %s:\n' "$(($(date +%s) - start))" "$log"
    tail -n 30 "$log" | sed 's/^/  | /'
    exit 1
  fi
done
