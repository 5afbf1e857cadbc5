#!/usr/bin/env bash
# Runs a command in network, mount and process namespaces of its own. When the process that runs this ends, however it ends,
# the kernel ends everything inside and removes its network, firewall rules and mounts.
#   unshare --net --mount --propagation private bash namespaces.sh cable COMMAND…
# needs DEVICE, MACHINE, NODE, PODS, SERVICES (addresses.ts), SYSCTL, a folder, and HIDDEN, folders of the machine.
set -euo pipefail
stage=$1
shift

case $stage in
cable)
	# The parent is still in the machine's network.
	machine() { nsenter --target "$PPID" --net "$@"; }
	ip link add eth0 type veth peer name "$DEVICE" netns "$PPID"
	machine ip address add "$MACHINE/30" dev "$DEVICE"
	machine ip link set "$DEVICE" up
	ip link set lo up
	ip address add "$NODE/30" dev eth0
	ip link set eth0 up
	ip route add default via "$MACHINE"
	for addresses in "$PODS" "$SERVICES"; do
		machine ip route add "$addresses" via "$NODE" dev "$DEVICE"
	done
	exec unshare --pid --fork --kill-child --mount-proc bash "$0" init "$@"
	;;
init)
	mount -t tmpfs tmpfs /run
	# Where kubelet and the network plugins write whatever their settings say.
	for folder in $HIDDEN; do
		mkdir -p "$folder"
		mount -t tmpfs tmpfs "$folder"
	done
	echo 1 >/proc/sys/net/ipv4/ip_forward
	# kubelet sets these for the whole machine, so it gets files in their place.
	for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
		kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		[ -e "/proc/sys/$name" ] || continue
		file="$SYSCTL/${name//\//.}"
		cat "/proc/sys/$name" >"$file"
		mount --bind "$file" "/proc/sys/$name"
	done
	# Bash stays as process 1, which has to wait for every process that loses its parent.
	"$@" &
	wait "$!"
	;;
esac
