import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
// Types only: see transport.ts.
import type { Cluster } from "@kubernetes/client-node";
// yaml: reads YAML 1.2 to the letter.
import { parse } from "yaml";
import { SettingError } from "../../service/settings.ts";
import { kubeconfigErrors } from "./errors.ts";

/** Where a Pod finds the authority of the apiserver (ServiceAccount admission controller). */
const podCaFile = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

/**
 * The apiserver that the kubeconfig at this path names, or without a path the apiserver of this Pod's cluster. Ignores
 * credentials. Throws {@link SettingError}.
 */
export function loadCluster(path: string | undefined): Cluster {
	const { cluster } = clusterAndUser(path);
	return path === undefined ? cluster : usable(path, cluster);
}

/** The same with the user, as the file has it; and nobody has looked yet whether it is safe to send a token there. */
export function clusterAndUser(path: string | undefined): {
	cluster: Cluster;
	user?: KubeconfigUser | undefined;
} {
	if (path === undefined) return { cluster: podCluster() };
	const config = readKubeconfig(path);
	const context = named(config.contexts, config["current-context"])?.context;
	const cluster = named(config.clusters, context?.cluster)?.cluster;
	if (!URL.canParse(cluster?.server ?? ""))
		throw kubeconfigErrors.noCluster(path, config["current-context"] ?? "");
	return {
		cluster: clusterOf(cluster!, context!.cluster!, dirname(path)),
		// YAML has null for a user without members.
		user: named(config.users, context!.user)?.user ?? undefined,
	};
}

/** Of a certificate; whatever else it may have. */
interface KubeconfigUser {
	"client-certificate-data"?: string;
	"client-key-data"?: string;
}

/** The fields used of https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/. */
interface Kubeconfig {
	"current-context"?: string;
	contexts?: { name: string; context?: { cluster?: string; user?: string } }[];
	users?: { name: string; user?: KubeconfigUser }[];
	clusters?: { name: string; cluster?: KubeconfigCluster }[];
}

interface KubeconfigCluster {
	server: string;
	"certificate-authority"?: string;
	"certificate-authority-data"?: string;
	"insecure-skip-tls-verify"?: boolean;
	"tls-server-name"?: string;
	"proxy-url"?: string;
}

function readKubeconfig(path: string): Kubeconfig {
	try {
		// YAML parses an empty file to null.
		return parse(readFileSync(path, "utf8")) ?? {};
	} catch (error) {
		throw kubeconfigErrors.unreadable(path, error);
	}
}

function podCluster(): Cluster {
	const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } =
		process.env;
	if (!host) throw kubeconfigErrors.notInPod();
	const address = host.includes(":") ? `[${host}]` : host;
	return {
		name: "pod",
		server: `https://${address}:${port ?? 443}`,
		caFile: podCaFile,
		skipTLSVerify: false,
	};
}

function clusterOf(
	cluster: KubeconfigCluster,
	name: string,
	directory: string,
): Cluster {
	const caFile = cluster["certificate-authority"];
	const caData = cluster["certificate-authority-data"];
	const tlsServerName = cluster["tls-server-name"];
	const proxyUrl = cluster["proxy-url"];
	return {
		name,
		server: cluster.server,
		skipTLSVerify: cluster["insecure-skip-tls-verify"] === true,
		// As in kubectl, the data wins over the file.
		...(caData
			? { caData }
			: caFile && {
					caFile: isAbsolute(caFile) ? caFile : join(directory, caFile),
				}),
		...(tlsServerName && { tlsServerName }),
		...(proxyUrl && { proxyUrl }),
	};
}

function usable(path: string, cluster: Cluster): Cluster {
	const { proxyUrl = "http:" } = cluster;
	// Each request carries its caller's token.
	checkTls(path, cluster, true);
	if (!/^https?:/.test(proxyUrl))
		throw new SettingError(
			`The kubeconfig ${path} has the proxy-url ${proxyUrl}, which is not an HTTP proxy. Use a URL that begins with http:// or https://.`,
		);
	return cluster;
}

function named<T extends { name: string }>(
	items: T[] | undefined,
	name: string | undefined,
): T | undefined {
	return items?.find((item) => item.name === name);
}

/**
 * Throws {@link SettingError} when credentials would travel in clear text to the server of this kubeconfig. Warns when the
 * server's certificate isn't verified.
 */
export function checkTls(
	path: string,
	{ server, skipTLSVerify }: { server: string; skipTLSVerify?: boolean },
	hasCredentials: boolean,
): void {
	// Clients speak plain HTTP to any scheme but https.
	const usesTls = new URL(server).protocol === "https:";
	if (!usesTls && hasCredentials)
		throw new SettingError(
			`The kubeconfig ${path} names the server ${server}, so tokens and other credentials would travel in clear text. Use its https:// address.`,
		);
	if (!usesTls && !skipTLSVerify)
		throw new SettingError(
			`The kubeconfig ${path} names the server ${server}, which doesn't encrypt. Use its https:// address, or set insecure-skip-tls-verify.`,
		);
	if (skipTLSVerify)
		process.emitWarning(
			`The kubeconfig ${path} sets insecure-skip-tls-verify, so whoever stands between here and ${server} can read and change everything, tokens included. Name the server's authority in certificate-authority instead.`,
			"InsecureKubeconfig",
		);
}
