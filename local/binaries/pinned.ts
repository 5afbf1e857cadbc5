import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The servers that Tidemill runs on a machine without a cluster, and what a real node (test/node) needs beyond them. */
export type BinaryName =
	| "coredns"
	| "docker-context"
	| "etcd"
	| "helm"
	| "kube-apiserver"
	| "kube-controller-manager"
	| "kube-proxy"
	| "kube-scheduler"
	| "kubeconform"
	| "actionlint"
	| "kubectl"
	| "kubelet"
	| "nats-server"
	| "alert-rules"
	| "promtool"
	| "skipper"
	| "versitygw";

/** What `make up` and the tests on a process node need. The programs of a real node are got when it starts. */
export const localServers = [
	"nats-server",
	"versitygw",
	"etcd",
	"kubectl",
	"kube-apiserver",
	"kube-controller-manager",
] as const satisfies BinaryName[];

export type LocalServer = (typeof localServers)[number];

/** As Node names them: `process.platform` and `process.arch`. */
export interface Platform {
	os: string;
	arch: string;
}

interface PinnedBinary {
	/** Without a leading `v`. The same as in `local/modules/<module>/go.mod`. */
	version: string;
	/** Arguments that print the version. */
	versionArgs: string[];
	/** The source: a folder below `local/modules`, the main package, and linker flags beyond `-s -w`. */
	module: string;
	package: string;
	/** A main package of our own in that folder, which builds less of it. */
	main?: string;
	ldflags?: string;
	/** Build tags, the same for all programs of a module; separate several by commas. */
	tags?: string;
	/** The publisher's own build; undefined when the platform has none. */
	release: (platform: Platform) => PinnedRelease | undefined;
}

export interface PinnedRelease {
	/** Key of {@link downloadSites}. */
	site: keyof typeof downloadSites;
	/** Path of the program, or of a `.tar.gz`, `.tgz` or `.zip` with it. */
	path: string;
	/** Path of the publisher's file with its SHA-256, which `npm run pin` reads. */
	checksums: string;
}

/**
 * SHA-256 of each release, by its path, as a maintainer's `npm run pin` read it. A release that isn't here is never run: a
 * checksum fetched beside the file would change with it.
 */
export const releaseDigests: Record<string, string> = JSON.parse(
	readFileSync(join(import.meta.dirname, "release-digests.json"), "utf8"),
);

/** Publishers' sites. The variable can name a mirror. */
export const downloadSites = {
	kubernetes: {
		url: "https://dl.k8s.io",
		variable: "TIDEMILL_DOWNLOAD_KUBERNETES",
	},
	github: {
		url: "https://github.com",
		variable: "TIDEMILL_DOWNLOAD_GITHUB",
	},
} as const;

const kubernetesVersion = "1.36.3";

export const pinnedBinaries: Record<BinaryName, PinnedBinary> = {
	"nats-server": {
		version: "2.15.2",
		versionArgs: ["--version"],
		module: "nats-server",
		package: "github.com/nats-io/nats-server/v2",
		release: ({ os, arch }) =>
			githubRelease(
				"nats-io/nats-server/releases/download/v2.15.2",
				`nats-server-v2.15.2-${os}-${goArch(arch)}.tar.gz`,
				"SHA256SUMS",
			),
	},
	etcd: {
		version: "3.7.3",
		versionArgs: ["--version"],
		module: "etcd",
		package: "go.etcd.io/etcd/server/v3",
		release: ({ os, arch }) =>
			githubRelease(
				"etcd-io/etcd/releases/download/v3.7.3",
				`etcd-v3.7.3-${os}-${goArch(arch)}.${os === "darwin" ? "zip" : "tar.gz"}`,
				"SHA256SUMS",
			),
	},
	versitygw: {
		version: "1.8.0",
		versionArgs: ["--version"],
		module: "versitygw",
		package: "github.com/versity/versitygw/cmd/versitygw",
		ldflags: "-X main.Version=v1.8.0",
		// Its archives name system and processor like `uname`.
		release: ({ os, arch }) =>
			githubRelease(
				"versity/versitygw/releases/download/v1.8.0",
				`versitygw_v1.8.0_${os === "darwin" ? "Darwin" : "Linux"}_${arch === "x64" ? "x86_64" : arch}.tar.gz`,
				"checksums.txt",
			),
	},
	"kube-apiserver": kubernetes("kube-apiserver", ["linux"], ["--version"]),
	"kube-controller-manager": kubernetes(
		"kube-controller-manager",
		["linux"],
		["--version"],
	),
	kubectl: kubernetes("kubectl", ["linux", "darwin"], ["version", "--client"]),
	helm: {
		version: "4.3.1",
		versionArgs: ["version", "--short"],
		module: "helm",
		package: "helm.sh/helm/v4/cmd/helm",
		ldflags: "-X helm.sh/helm/v4/internal/version.version=v4.3.1",
		// Helm's own site has its releases.
		release: () => undefined,
	},
	kubeconform: {
		version: "0.8.0",
		versionArgs: ["-v"],
		module: "kubeconform",
		package: "github.com/yannh/kubeconform/cmd/kubeconform",
		ldflags: "-X main.version=v0.8.0",
		release: () => undefined,
	},
	actionlint: {
		version: "1.7.12",
		versionArgs: ["-version"],
		module: "actionlint",
		package: "github.com/rhysd/actionlint/cmd/actionlint",
		release: () => undefined,
	},
	"alert-rules": {
		...prometheus("github.com/prometheus/prometheus"),
		main: "./alert-rules",
	},
	"docker-context": {
		version: "0.6.1",
		versionArgs: ["--version"],
		module: "docker-context",
		package: "github.com/moby/patternmatcher",
		main: ".",
		release: () => undefined,
	},
	promtool: prometheus("github.com/prometheus/prometheus/cmd/promtool"),
	"kube-proxy": kubernetes("kube-proxy", ["linux"], ["--version"]),
	"kube-scheduler": kubernetes("kube-scheduler", ["linux"], ["--version"]),
	kubelet: kubernetes("kubelet", ["linux"], ["--version"]),
	skipper: {
		version: "0.22.0",
		versionArgs: ["-version"],
		module: "skipper",
		package: "github.com/zalando/skipper/cmd/skipper",
		ldflags: "-X main.version=v0.22.0",
		// Only the tests' node runs it, and it builds within minutes.
		release: () => undefined,
	},
	coredns: {
		version: "1.14.1",
		versionArgs: ["-version"],
		module: "coredns",
		package: "github.com/coredns/coredns",
		main: ".",
		release: ({ os, arch }) =>
			githubRelease(
				"coredns/coredns/releases/download/v1.14.1",
				`coredns_1.14.1_${os}_${goArch(arch)}.tgz`,
				`coredns_1.14.1_${os}_${goArch(arch)}.tgz.sha256`,
			),
	},
};

/** Kubernetes publishes its servers only for Linux. Elsewhere they are built. */
function kubernetes(
	name: string,
	systems: string[],
	versionArgs: string[],
): PinnedBinary {
	const [major, minor] = kubernetesVersion.split(".");
	const stamp = "-X k8s.io/component-base/version";
	return {
		version: kubernetesVersion,
		versionArgs,
		module: "kubernetes",
		package: `k8s.io/kubernetes/cmd/${name}`,
		// Without these flags clients see v0.0.0 and refuse to work.
		ldflags: `${stamp}.gitVersion=v${kubernetesVersion} ${stamp}.gitMajor=${major} ${stamp}.gitMinor=${minor}`,
		release: ({ os, arch }) => {
			if (!systems.includes(os)) return undefined;
			const path = `/release/v${kubernetesVersion}/bin/${os}/${goArch(arch)}/${name}`;
			return { site: "kubernetes", path, checksums: `${path}.sha256` };
		},
	};
}

/** Its modules are v0.x, its releases v3.x. */
function prometheus(program: string): PinnedBinary {
	return {
		version: "0.316.0",
		versionArgs: ["--version"],
		module: "prometheus",
		package: program,
		// Rules need no service discovery, and each has a cloud's client.
		tags: "remove_all_sd",
		ldflags: "-X github.com/prometheus/common/version.Version=3.16.0",
		release: () => undefined,
	};
}

function githubRelease(
	folder: string,
	file: string,
	checksums: string,
): PinnedRelease {
	return {
		site: "github",
		path: `/${folder}/${file}`,
		checksums: `/${folder}/${checksums}`,
	};
}

function goArch(arch: string): string {
	return arch === "x64" ? "amd64" : arch;
}
