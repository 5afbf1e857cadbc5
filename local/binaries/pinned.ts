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
	/** What a build of it takes on two cores with empty caches, with what its module's programs before it have compiled. */
	buildSeconds?: number;
}

/** A `.tar.gz` or `.tgz` of a publisher. */
export interface PinnedArchive {
	/** Key of {@link downloadSites}. */
	site: keyof typeof downloadSites;
	path: string;
}

export interface PinnedRelease extends PinnedArchive {
	/** Path of the program in the archive. */
	member: string;
	/** Path of the publisher's file with the archive's digest, which `npm run pin` reads. */
	checksums: string;
	algorithm: "sha256" | "sha512";
	/** May be an older patch than what is built. */
	version: string;
}

export type Digest = `${PinnedRelease["algorithm"]}:${string}`;

/**
 * The digest of each release, by its path, as a maintainer's `npm run pin` read it. A release that isn't here is never run: a
 * checksum fetched beside the file would change with it.
 */
export const releaseDigests: Record<string, Digest> = JSON.parse(
	readFileSync(join(import.meta.dirname, "release-digests.json"), "utf8"),
);

const unread = "no maintainer has read its publisher's digest yet";
/** Why these have no digest, and so are built, although their publishers have builds. `npm run pin` reads what is missing. */
export const undigested: Partial<Record<BinaryName, string>> = {
	coredns: unread,
	// envtest has an etcd, too: an older one, which doesn't open the data of this one.
	etcd: unread,
	"nats-server": unread,
	versitygw: unread,
};

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
/** The newest of this minor whose digests Kubernetes' repositories tell. `make up` alone takes it, in place of a build of minutes. */
const publishedKubernetes = "1.36.0";

export const pinnedBinaries: Record<BinaryName, PinnedBinary> = {
	"nats-server": {
		version: "2.15.2",
		versionArgs: ["--version"],
		module: "nats-server",
		package: "github.com/nats-io/nats-server/v2",
		buildSeconds: 16,
		release: ({ os, arch }) => {
			const folder = `nats-server-v2.15.2-${os}-${goArch(arch)}`;
			return githubRelease("nats-io/nats-server", "2.15.2", {
				file: `${folder}.tar.gz`,
				member: `${folder}/nats-server`,
				checksums: "SHA256SUMS",
			});
		},
	},
	etcd: {
		version: "3.7.3",
		versionArgs: ["--version"],
		module: "etcd",
		package: "go.etcd.io/etcd/server/v3",
		buildSeconds: 25,
		release: ({ os, arch }) => {
			// For macOS there is a zip.
			if (os !== "linux") return undefined;
			const folder = `etcd-v3.7.3-${os}-${goArch(arch)}`;
			return githubRelease("etcd-io/etcd", "3.7.3", {
				file: `${folder}.tar.gz`,
				member: `${folder}/etcd`,
				checksums: "SHA256SUMS",
			});
		},
	},
	versitygw: {
		version: "1.8.0",
		versionArgs: ["--version"],
		module: "versitygw",
		package: "github.com/versity/versitygw/cmd/versitygw",
		ldflags: "-X main.Version=v1.8.0",
		// Its archives name system and processor like `uname`.
		buildSeconds: 63,
		release: ({ os, arch }) => {
			const folder = `versitygw_v1.8.0_${os === "darwin" ? "Darwin" : "Linux"}_${arch === "x64" ? "x86_64" : arch}`;
			return githubRelease("versity/versitygw", "1.8.0", {
				file: `${folder}.tar.gz`,
				member: `${folder}/versitygw`,
				checksums: "checksums.txt",
			});
		},
	},
	"kube-apiserver": kubernetes("kube-apiserver", 253),
	"kube-controller-manager": kubernetes("kube-controller-manager", 64),
	kubectl: kubernetes("kubectl", 22, ["version", "--client"]),
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
	"kube-proxy": kubernetes("kube-proxy", 7),
	"kube-scheduler": kubernetes("kube-scheduler", 6),
	kubelet: kubernetes("kubelet", 23),
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
		buildSeconds: 240,
		release: ({ os, arch }) => {
			const file = `coredns_1.14.1_${os}_${goArch(arch)}.tgz`;
			return githubRelease("coredns/coredns", "1.14.1", {
				file,
				member: "coredns",
				checksums: `${file}.sha256`,
			});
		},
	},
};

/** Kubernetes publishes its servers only for Linux. envtest has some of them for macOS, too. */
function kubernetes(
	name: string,
	buildSeconds: number,
	versionArgs = ["--version"],
): PinnedBinary {
	const [major, minor] = kubernetesVersion.split(".");
	const stamp = "-X k8s.io/component-base/version";
	const published = {
		algorithm: "sha512",
		version: publishedKubernetes,
	} as const;
	return {
		version: kubernetesVersion,
		versionArgs,
		module: "kubernetes",
		package: `k8s.io/kubernetes/cmd/${name}`,
		// Without these flags clients see v0.0.0 and refuse to work.
		ldflags: `${stamp}.gitVersion=v${kubernetesVersion} ${stamp}.gitMajor=${major} ${stamp}.gitMinor=${minor}`,
		buildSeconds,
		release: ({ os, arch }) => {
			if (os === "linux") {
				const path = `/v${publishedKubernetes}/kubernetes-server-linux-${goArch(arch)}.tar.gz`;
				return {
					...published,
					site: "kubernetes",
					path,
					member: `kubernetes/server/bin/${name}`,
					checksums: `${path}.sha512`,
				};
			}
			if (!["kube-apiserver", "kubectl"].includes(name)) return undefined;
			const envtest = `v${publishedKubernetes}`;
			return {
				...published,
				site: "github",
				path: `/kubernetes-sigs/controller-tools/releases/download/envtest-${envtest}/envtest-${envtest}-${os}-${goArch(arch)}.tar.gz`,
				member: `controller-tools/envtest/${name}`,
				checksums:
					"/kubernetes-sigs/controller-tools/raw/HEAD/envtest-releases.yaml",
			};
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
	repository: string,
	version: string,
	archive: { file: string; member: string; checksums: string },
): PinnedRelease {
	const folder = `/${repository}/releases/download/v${version}`;
	return {
		site: "github",
		path: `${folder}/${archive.file}`,
		member: archive.member,
		checksums: `${folder}/${archive.checksums}`,
		algorithm: "sha256",
		version,
	};
}

function goArch(arch: string): string {
	return arch === "x64" ? "amd64" : arch;
}
