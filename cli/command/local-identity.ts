import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasReason, KubeApiError } from "../../packages/kube/client/errors.ts";
import { type Cluster, chooseCluster } from "./cluster.ts";
import type { ClusterOptions } from "./group.ts";

const lifeSeconds = 900;
/** The apiserver counts a new binding a moment later. */
const settling = { most: 50, pauseMs: 100 };

/** A token for a local Tidemill's REST API, and the namespace that it is for. */
export interface LocalToken {
	token: string;
	namespace: string;
	bornMs: number;
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

/**
 * A token of 15 minutes with the rights of the role tidemill-editor in the namespace, made with the person's own kubeconfig:
 * Kubernetes decides whether they may. Undefined if they may not, or another's kubeconfig is chosen.
 */
export async function ownToken(
	options: ClusterOptions,
): Promise<LocalToken | undefined> {
	try {
		const cluster = await chooseCluster(options);
		const token = await issued(cluster);
		return { token, namespace: cluster.namespace, bornMs: Date.now() };
	} catch (error) {
		if (error instanceof KubeApiError) return undefined;
		throw error;
	}
}

async function issued({ client, namespace }: Cluster): Promise<string> {
	const { issueToken, requestToken } = await import(
		"../../api/resources/tokens.ts"
	);
	const { kinds } = await import("../../packages/kube/kinds.ts");
	const { status } = (await client.raw(
		"POST",
		"/apis/authentication.k8s.io/v1/selfsubjectreviews",
		{
			body: {
				apiVersion: "authentication.k8s.io/v1",
				kind: "SelfSubjectReview",
			},
		},
	)) as { status: { userInfo: { username: string } } };
	const user = hash("sha256", status.userInfo.username).slice(0, 10);
	const name = `cli-${user}`;
	const account = `tidemill-token-${name}`;
	const issuer = { client, account: namespace };
	const issue = (serviceAccount: string) =>
		requestToken(issuer, serviceAccount, lifeSeconds);
	// One that is there without its binding is of a command that was interrupted.
	const binding = await client.get(kinds.roleBinding, account, namespace);
	if (binding) return (await issue(account)).token;
	await client.delete(kinds.serviceAccount, account, namespace);
	try {
		const made = await issueToken(issuer, { name, scope: "edit" }, { issue });
		await untilPermitted({ client, namespace }, account);
		return made.token;
	} catch (error) {
		// Another command of the same person was first.
		if (!hasReason(error, "AlreadyExists")) throw error;
		return (await issue(account)).token;
	}
}

/** Who may not ask about others doesn't wait. */
async function untilPermitted(
	{ client, namespace }: Cluster,
	account: string,
): Promise<void> {
	const apiVersion = "authorization.k8s.io/v1";
	const body = {
		apiVersion,
		kind: "SubjectAccessReview",
		spec: {
			user: `system:serviceaccount:${namespace}:${account}`,
			resourceAttributes: {
				...{ namespace, group: "tidemill.dev" },
				...{ verb: "get", resource: "sources", subresource: "bodies" },
			},
		},
	};
	for (let look = 0; look < settling.most; look++) {
		const { status } = (await client
			.raw("POST", `/apis/${apiVersion}/subjectaccessreviews`, { body })
			.catch(() => ({ status: { allowed: true } }))) as {
			status: { allowed: boolean };
		};
		if (status.allowed) return;
		await sleep(settling.pauseMs);
	}
}
