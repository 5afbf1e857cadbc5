import type { BinaryName } from "../../../local/binaries/pinned.ts";

/** The programs of a cluster that aren't Debian's. */
export const programs = [
	"etcd",
	"kube-apiserver",
	"kube-controller-manager",
	"kube-proxy",
	"kube-scheduler",
	"kubectl",
	"kubelet",
	"coredns",
] as const satisfies BinaryName[];

/** What the part outside of the node's namespaces tells the part inside, as a file. */
export interface Plan {
	commands: Record<(typeof programs)[number], string>;
	pauseImage: string;
}
