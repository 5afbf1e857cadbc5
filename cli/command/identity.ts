import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KubeApiError } from "../../packages/kube/client/errors.ts";
import { readCluster } from "./cluster.ts";
import { CommandError, NoKubeconfig } from "./errors.ts";
import type { ClusterOptions } from "./group.ts";
import { addressOf, isApiOf } from "./own-api.ts";
import { serviceAccountOf } from "./permission.ts";

/** Who asks the REST API. */
export interface Identity {
	token: string;
	/** For the header Tidemill-Account; undefined if the token's own is meant. */
	namespace: string | undefined;
	/**
	 * Where the token is from: TIDEMILL_API_TOKEN, the file of `make up`, the kubeconfig, or made with the kubeconfig's
	 * certificate.
	 */
	from: "variable" | "local" | "kubeconfig" | "own";
}

/** Finds out who asks, at each request: a followed list outlives its token. */
export interface IdentitySource {
	current(): Promise<Identity>;
	/** Another one, once the API refused a token of the person's own; undefined if there is no other. */
	afterRefusal(refused: Identity): Promise<Identity | undefined>;
}

/** Well before the token ends. */
const renewBeforeMs = 5 * 60_000;
/** A kubeconfig's token may change at any time, and reading it costs little. */
const rereadMs = 30_000;

/**
 * TIDEMILL_API_TOKEN, if a person set it: what a person chose is what they see the API with, and it goes to the address that they chose
 * with it. Otherwise the person's own token by the kubeconfig, which goes to no other API than that cluster's.
 */
export function identityFor(
	options: ClusterOptions,
	url: string,
	given: string | undefined,
): IdentitySource {
	const isLocal = isLocalApi(url);
	if (given !== undefined && !(isLocal && isOfMakeUp(given))) {
		const { namespace } = options;
		const fixed: Identity = { token: given, namespace, from: "variable" };
		return {
			current: async () => fixed,
			afterRefusal: async () => undefined,
		};
	}
	let known: Promise<Identity> | undefined;
	let untilMs = 0;
	const find = (anew: boolean): Promise<Identity> => {
		known = findOwn(options, url, anew)
			.catch((error) => {
				const isRefusal =
					error instanceof CommandError || error instanceof KubeApiError;
				if (!isLocal || !isRefusal) throw error;
				return { identity: localIdentity(options, given), lifeMs: rereadMs };
			})
			.then(({ identity, lifeMs }) => {
				untilMs = Date.now() + lifeMs;
				return identity;
			});
		untilMs = Number.POSITIVE_INFINITY;
		return known;
	};
	return {
		current: () => (known && Date.now() < untilMs ? known : find(false)),
		afterRefusal: async ({ from }) => (from === "own" ? find(true) : undefined),
	};
}

/**
 * Whether `make up` wrote the token into its file, now or an hour ago: no person chose that one, and each shell that has read the file
 * has it.
 */
function isOfMakeUp(token: string): boolean {
	const own = readExport(process.env.TIDEMILL_HOME!, "TIDEMILL_API_TOKEN");
	const [ours, given] = [own ?? "", token].map(serviceAccountOf);
	return (
		given !== undefined &&
		given.name === ours?.name &&
		given.namespace === ours.namespace
	);
}

function localIdentity(
	{ namespace }: ClusterOptions,
	given: string | undefined,
): Identity {
	const home = process.env.TIDEMILL_HOME!;
	const token = readExport(home, "TIDEMILL_API_TOKEN") ?? given ?? "";
	return { token, namespace, from: "local" };
}

/** Throws {@link CommandError} if there is none for that API, and says what would help. */
async function findOwn(
	options: ClusterOptions,
	url: string,
	anew: boolean,
): Promise<{ identity: Identity; lifeMs: number }> {
	const { config, client, namespace } = await readCluster(options).catch(
		(error) => {
			if (!(error instanceof NoKubeconfig)) throw error;
			throw new CommandError(
				`this needs a token for the REST API, or a kubeconfig of its cluster. Set TIDEMILL_API_TOKEN to a token. ${error.message}`,
			);
		},
	);
	const inNamespace = ` -n ${namespace}`;
	if (!(await isApiOf(client, new URL(url)))) {
		const { host } = new URL(url);
		const why = addressOf(new URL(url))
			? `the cluster of the kubeconfig doesn't say that ${host} is its own REST API`
			: `without https:// nothing proves who answers at ${host}`;
		throw new CommandError(
			`${why}, so no token of that cluster goes there (docs/cli.md#who-asks). Set TIDEMILL_API_TOKEN: export TIDEMILL_API_TOKEN="$(tidemill tokens create mine-$(date +%s) --scope edit${inNamespace})"`,
		);
	}
	const token = await bearerOf(config);
	if (token !== undefined && mayAskFor(token, namespace))
		return {
			identity: { token, namespace, from: "kubeconfig" },
			lifeMs: rereadMs,
		};
	const { makeOwnToken } = await import("./own-token.ts");
	const made = await makeOwnToken({ client, namespace, config }, anew).catch(
		(error) => {
			if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
			throw new CommandError(
				`you may not make a token for the REST API in namespace ${namespace}: ${error.message}. Set TIDEMILL_API_TOKEN to one that who administers the namespace makes for you: tidemill tokens create <name> --scope edit${inNamespace}`,
			);
		},
	);
	const lifeMs = Date.parse(made.expires) - Date.now() - renewBeforeMs;
	return {
		identity: { token: made.token, namespace, from: "own" },
		lifeMs: Math.max(lifeMs, rereadMs),
	};
}

/** The token that the kubeconfig has, a file has, or a program of it gives; undefined of a certificate. */
async function bearerOf(config: {
	applyToHTTPSOptions(options: object): Promise<void>;
}): Promise<string | undefined> {
	const request: { headers?: Record<string, string> } = {};
	await config.applyToHTTPSOptions(request);
	const { Authorization: header = "" } = request.headers ?? {};
	return /^Bearer (\S+)$/.exec(header)?.[1];
}

/** A service account's token is for its own namespace alone. */
function mayAskFor(token: string, namespace: string): boolean {
	const own = serviceAccountOf(token);
	return own === undefined || own.namespace === namespace;
}

/** Whether that address is the REST API of the local Tidemill whose shell this is: `make up` wrote both into one file. */
export function isLocalApi(url: string): boolean {
	const home = process.env.TIDEMILL_HOME;
	if (!home) return false;
	return readExport(home, "TIDEMILL_API_URL") === url;
}

/** What `make up` has in its file for shells by now; a shell that read it an hour ago has another. */
export function readExport(home: string, name: string): string | undefined {
	try {
		const text = readFileSync(join(home, "env"), "utf8");
		return new RegExp(`^export ${name}='?([^'\\n]*)'?$`, "m").exec(text)?.[1];
	} catch {
		return undefined;
	}
}
