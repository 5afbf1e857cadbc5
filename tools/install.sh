#!/bin/sh
# Installs what the lock file names, and nothing else. Of several `make` in one clone one does it, and the others wait.
set -eu
lock=.installing
until ln -s "$$" "$lock" 2>/dev/null; do
  owner=$(ls -l "$lock" 2>/dev/null | sed 's/.* -> //')
  [ -n "$owner" ] || continue
  # A process that was killed leaves it.
  kill -0 "$owner" 2>/dev/null || { rm -f "$lock"; continue; }
  [ "${waiting:-}" ] || echo "Waiting for process $owner, which installs the packages."
  waiting=1
  sleep 1
done
trap 'rm -f "$lock"' EXIT
trap 'exit 1' HUP INT TERM
[ "${waiting:-}" ] && [ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
npm ci --no-progress --loglevel=error
