import { Option } from "@commander-js/extra-typings";
import { hasReason } from "../kube/client/errors.ts";
import { kinds, type RoleBinding, type Secret } from "../kube/kinds.ts";
import { resourcePath } from "../kube/resource.ts";
import { awaitObject } from "../kube/watch/object-wait.ts";
import { type Cluster, chooseCluster } from "./command/cluster.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { examples, type Group } from "./command/group.ts";

const roles = ["viewer", "editor", "runner"] as const;
const defaultDuration = "24h";
const secretWaitMs = 10_000;
const fieldManager = "tidemill";

/** `tidemill tokens`. */
export function define(tokens: Group): void {
	tokens
		.command("create")
		.description(
			"Print a token for the REST API. It belongs to the service account <name>, which gets the role.",
		)
		.argument("<name>", "the service account")
		.addOption(
			new Option("-r, --role <role>", "what the token may do")
				.choices(roles)
				.makeOptionMandatory(),
		)
		.addOption(
			new Option(
				"--duration <duration>",
				"how long it is valid, in hours or days, such as 24h or 90d",
			).default(defaultDuration),
		)
		.addOption(
			new Option(
				"--long-lived",
				"make a token that is valid until its Secret is deleted",
			).conflicts("duration"),
		)
		.addHelpText(
			"after",
			examples("tidemill tokens create orchestrator --role runner"),
		)
		.action(async (name, { role, duration, longLived }, command) => {
			const seconds = secondsOf(duration);
			const cluster = await chooseCluster(command.optsWithGlobals());
			await bind(cluster, name, role);
			const token = longLived
				? await longLivedToken(cluster, name)
				: await requestToken(cluster, name, seconds);
			process.stderr.write(
				`The service account ${cluster.namespace}/${name} has the role tidemill-${role}. ${longLived ? `Its token is valid until the Secret "${name}-token" is deleted.` : `Its token is valid for ${duration}, or less if the cluster allows less.`}\n`,
			);
			process.stdout.write(`${token}\n`);
		});
}

async function bind(
	{ client, namespace }: Cluster,
	name: string,
	role: string,
): Promise<void> {
	await unlessExists(
		client.create(
			kinds.serviceAccount,
			{ metadata: { name, namespace } },
			{ fieldManager },
		),
	);
	await unlessExists(
		client.create<RoleBinding>(
			kinds.roleBinding,
			{
				metadata: { name: `${name}-tidemill-${role}`, namespace },
				roleRef: {
					apiGroup: "rbac.authorization.k8s.io",
					kind: "ClusterRole",
					name: `tidemill-${role}`,
				},
				subjects: [{ kind: "ServiceAccount", name, namespace }],
			},
			{ fieldManager },
		),
	);
}

/** authentication.k8s.io/v1 TokenRequest. */
async function requestToken(
	{ client, namespace }: Cluster,
	name: string,
	expirationSeconds: number,
): Promise<string> {
	const answer = (await client.raw(
		"POST",
		resourcePath(kinds.serviceAccount, namespace, name, "token"),
		{
			body: {
				apiVersion: "authentication.k8s.io/v1",
				kind: "TokenRequest",
				spec: { expirationSeconds },
			},
		},
	)) as { status: { token: string } };
	return answer.status.token;
}

/** Kubernetes writes a token into this Secret. It is valid for as long as the Secret exists. */
async function longLivedToken(
	{ client, namespace }: Cluster,
	account: string,
): Promise<string> {
	const name = `${account}-token`;
	await unlessExists(
		client.create<Secret>(
			kinds.secret,
			{
				metadata: {
					name,
					namespace,
					annotations: { "kubernetes.io/service-account.name": account },
				},
				type: "kubernetes.io/service-account-token",
			},
			{ fieldManager },
		),
	);
	const tokenIn = (secret: Secret | undefined) => secret?.data?.token;
	const secret = await client.get<Secret>(kinds.secret, name, namespace);
	const filled =
		secret &&
		(await awaitObject(
			client,
			kinds.secret,
			secret,
			(seen) => tokenIn(seen) !== undefined,
			AbortSignal.timeout(secretWaitMs),
		));
	const token = tokenIn(filled);
	if (token !== undefined) return Buffer.from(token, "base64").toString();
	throw new CommandError(
		`Kubernetes has not yet written a token into the Secret "${name}". Read it later with: kubectl get secret ${name} -n ${namespace} -o jsonpath={.data.token} | base64 -d`,
	);
}

async function unlessExists(creation: Promise<unknown>): Promise<void> {
	try {
		await creation;
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
}

function secondsOf(duration: string): number {
	const [, number, unit] = /^(\d{1,5})([hd])$/.exec(duration) ?? [];
	if (number === undefined || Number(number) === 0)
		throw new UsageError(
			"--duration must be in hours or days, such as 24h or 90d",
		);
	return Number(number) * (unit === "h" ? 3_600 : 86_400);
}
