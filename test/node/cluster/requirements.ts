import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { pathOfRoot } from "../../../local/binaries/debian-packages.ts";
import { LocalError } from "../../../local/machine/errors.ts";
import { reasonWithoutCgroups } from "./cgroups.ts";

/** Why no node can run on this machine; undefined if one can, at least once its packages are installed. */
export function reasonWithoutNode(): string | undefined {
	if (process.platform !== "linux")
		return `it needs Linux, and this is ${process.platform}`;
	if (process.getuid!() !== 0)
		return "it needs root, for namespaces, mounts and firewall rules";
	return reasonWithoutCgroups();
}

/** Kernel modules, and what is there once they are loaded. */
const modules: Record<string, string> = {
	// Else Pods on one bridge reach each other past kube-proxy's rules, so that no answer of a Service finds its way back.
	br_netfilter: "/proc/sys/net/bridge",
	overlay: "/sys/module/overlay",
};

/** Loads the modules that aren't loaded. Throws a LocalError that names one which the kernel doesn't have. */
export function loadModules(): void {
	for (const [module, proof] of Object.entries(modules)) {
		if (existsSync(proof)) continue;
		const { stderr } = spawnSync("modprobe", [module], {
			encoding: "utf8",
			env: { PATH: pathOfRoot },
		});
		if (!existsSync(proof))
			throw new LocalError(
				`A node needs the kernel module ${module}, which can't be loaded: ${stderr?.trim() || "there is no modprobe"}.`,
			);
	}
}

/** Debian's package for each program that isn't built here. */
export const packages: Record<string, string> = {
	containerd: "containerd",
	runc: "runc",
	"/usr/lib/cni/bridge": "containernetworking-plugins",
	"iptables-restore": "iptables",
	ip: "iproute2",
	nsenter: "util-linux",
	catatonit: "catatonit",
};
