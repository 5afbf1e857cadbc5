import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ChildProgram } from "../../../../local/machine/program.ts";

/** In the node's own /run. */
export const containerdSocket = "/run/containerd/containerd.sock";

/** Runs containers with runc, each in an overlay over its image. */
export function containerd(configFile: string): ChildProgram {
	return {
		name: "containerd",
		command: "containerd",
		args: ["--config", configFile],
		env: {},
		isReady: () =>
			promisify(execFile)("ctr", [
				"--address",
				containerdSocket,
				"--timeout=2s",
				"version",
			]).then(
				() => true,
				() => false,
			),
		stopTimeoutMs: 5_000,
	};
}

/** In the format of containerd 1.6 and later. */
export function containerdConfig(settings: {
	directory: string;
	cniDirectory: string;
	pauseImage: string;
}): string {
	const { directory, cniDirectory, pauseImage } = settings;
	const cri = 'plugins."io.containerd.grpc.v1.cri"';
	return `version = 2
root = "${directory}"
state = "/run/containerd"
[grpc]
address = "${containerdSocket}"
[${cri}]
sandbox_image = "${pauseImage}"
# Lowering a process's score needs CAP_SYS_RESOURCE, which some machines withhold.
restrict_oom_score_adj = true
[${cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${cniDirectory}"
[${cri}.containerd]
snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`;
}

/** Pods hang on one bridge, and reach each other, Services and the machine. */
export function cniConfig(settings: {
	/** This node's share of the Pods' addresses. */
	subnet: string;
	/** Remembers which addresses are taken. */
	directory: string;
}): string {
	return JSON.stringify({
		cniVersion: "1.0.0",
		name: "pods",
		plugins: [
			{
				type: "bridge",
				bridge: "pods",
				isGateway: true,
				ipMasq: true,
				// A Pod that calls its own Service gets its request back on the port it left by.
				hairpinMode: true,
				ipam: {
					type: "host-local",
					ranges: [[{ subnet: settings.subnet }]],
					routes: [{ dst: "0.0.0.0/0" }],
					dataDir: settings.directory,
				},
			},
			{ type: "portmap", capabilities: { portMappings: true } },
		],
	});
}
