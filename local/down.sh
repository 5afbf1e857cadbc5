#!/bin/sh
# `make down` where no packages are installed: stops the supervisor of a `make up`, if the process is still the one that it has recorded.
home=${TIDEMILL_HOME:-.tidemill}
value() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$home/lock"; }
if [ ! -f "$home/lock" ]; then
  echo "No Tidemill is running in $home."
  exit 0
fi
pid=$(value pid)
since=$(LC_ALL=C TZ=UTC0 ps -o lstart= -p "${pid:-0}" 2>/dev/null | sed 's/^ *//; s/ *$//')
if [ -z "$since" ] || [ "$since" != "$(value psStart)" ]; then
  echo "$home names a Tidemill that no longer runs. To stop what a killed one has left, run \`npm ci\`, then \`make down\` once more."
  exit 1
fi
echo "Stopping Tidemill in $home."
kill -TERM "$pid"
tries=0
while kill -0 "$pid" 2>/dev/null; do
  tries=$((tries + 1))
  if [ "$tries" -gt 120 ]; then
    echo "Process $pid has not stopped within 120 s. End it with \`kill -9 $pid\` and run \`make down\` again."
    exit 1
  fi
  sleep 1
done
echo "Stopped. The data stays in $home."
