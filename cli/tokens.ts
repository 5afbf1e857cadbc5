import { Option } from "@commander-js/extra-typings";
import { RequestError } from "../api/http/errors.ts";
import {
	maxSeconds,
	minSeconds,
	neverExpires,
	type TokenScope,
	tokenScopes,
	tokenView,
} from "../api/resources/token.ts";
import { endToken, issueToken, requestToken } from "../api/resources/tokens.ts";
import { label } from "../crds/labels.ts";
import {
	kinds,
	type RoleBinding,
	type Secret,
} from "../packages/kube/kinds.ts";
import { awaitObject } from "../packages/kube/watch/object-wait.ts";
import { didYouMean } from "../packages/service/nearest.ts";
import {
	type Cluster,
	chooseCluster,
	requireNamespace,
} from "./command/cluster.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { dataText, outputIn, print, remark, table } from "./command/output.ts";
import { defineWhoami } from "./whoami.ts";

const secretWaitMs = 10_000;

/** `tidemill tokens`. */
export function define(tokens: CommandGroup): void {
	tokens
		.command("create")
		.description(
			"Print a new token for the REST API, which is shown only once. It belongs to a new service account, tidemill-token-<name>.",
		)
		.argument("<name>", "the name of the token")
		.addOption(
			new Option(
				"-s, --scope <scope>",
				"what the token may do in the namespace",
			)
				.choices(Object.keys(tokenScopes) as TokenScope[])
				.makeOptionMandatory(),
		)
		.addOption(
			new Option(
				"--duration <duration>",
				"how long it is valid, in hours or days, such as 24h or 90d",
			).default("24h"),
		)
		.addOption(
			new Option(
				"--long-lived",
				"make a token that is valid until it is revoked",
			).conflicts("duration"),
		)
		.addHelpText(...examples("tidemill tokens create orchestrator --scope run"))
		.action(async (name, { scope, duration, longLived }, command) => {
			const seconds = secondsOf(duration);
			const cluster = await chooseCluster(command.optsWithGlobals());
			const issuer = { client: cluster.client, account: cluster.namespace };
			const { binding, token } = await issueToken(
				issuer,
				{ name, scope },
				{
					issue: (serviceAccount) =>
						longLived
							? longLivedToken(cluster, serviceAccount)
							: requestToken(issuer, serviceAccount, seconds),
				},
			).catch((error) => {
				if (error instanceof RequestError)
					throw new CommandError(error.message);
				throw error;
			});
			const { expireTime } = tokenView(binding);
			remark(
				`The token "${name}" has the scope ${scope} in namespace ${cluster.namespace}. It is valid until ${expireTime ?? "it is revoked"}.\n`,
			);
			print(`${token}\n`);
		});
	tokens
		.command("list")
		.description(
			"List tokens, including those made over the REST API. The tokens themselves are not shown.",
		)
		.addOption(outputIn(["table", "json", "yaml", "name"]))
		.addHelpText(...examples("tidemill tokens list -n shop"))
		.action(async ({ output }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			print(await listing(cluster, output));
		});
	tokens
		.command("revoke")
		.description("Revoke tokens. Kubernetes refuses them within seconds.")
		.argument("<names...>", "the tokens")
		.addHelpText(...examples("tidemill tokens revoke orchestrator"))
		.action(async (names, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { client, namespace } = cluster;
			for (const name of names) {
				if (!(await endToken(client, namespace, name))) {
					await requireNamespace(cluster);
					const names = (await tokensIn(cluster)).map(({ name }) => name);
					throw new CommandError(
						`there is no token "${name}" in namespace ${namespace}.${didYouMean(name, names)} List them with: tidemill tokens list -n ${namespace}`,
					);
				}
				print(`token/${name} revoked\n`);
			}
		});
	defineWhoami(tokens);
}

async function tokensIn({ client, namespace }: Cluster) {
	const { items } = await client.list<RoleBinding>(kinds.roleBinding, {
		namespace,
		labelSelector: label.token,
	});
	return items.map((binding) => tokenView(binding));
}

async function listing(
	cluster: Cluster,
	format: "table" | "json" | "yaml" | "name",
): Promise<string> {
	const tokens = await tokensIn(cluster);
	if (tokens.length === 0) {
		await requireNamespace(cluster);
		remark(`There are no tokens in namespace ${cluster.namespace}.\n`);
	}
	if (format === "name")
		return tokens.map(({ name }) => `token/${name}\n`).join("");
	if (format !== "table") return dataText(tokens, format);
	const rows = tokens.map(({ name, scope, status, expireTime = "never" }) =>
		[name, scope, status, expireTime].map(String),
	);
	return rows.length === 0
		? ""
		: table([["NAME", "SCOPE", "STATUS", "EXPIRES"], ...rows]);
}

/** Kubernetes writes a token into this Secret, and removes it with the service account. */
async function longLivedToken(
	{ client, namespace }: Cluster,
	name: string,
): Promise<{ token: string; expires: string }> {
	const secret = await client.create<Secret>(
		kinds.secret,
		{
			metadata: {
				name,
				namespace,
				annotations: { "kubernetes.io/service-account.name": name },
			},
			type: "kubernetes.io/service-account-token",
		},
		{ fieldManager: "tidemill" },
	);
	const tokenIn = (secret: Secret | undefined) => secret?.data?.token;
	const filled = await awaitObject(
		client,
		kinds.secret,
		secret,
		(seen) => tokenIn(seen) !== undefined,
		AbortSignal.timeout(secretWaitMs),
	);
	const token = tokenIn(filled);
	if (token === undefined)
		throw new CommandError(
			`Kubernetes has not written a token into the Secret "${name}" within ${secretWaitMs / 1_000} s. Try again.`,
		);
	return {
		token: Buffer.from(token, "base64").toString(),
		expires: neverExpires,
	};
}

function secondsOf(duration: string): number {
	const [, number, unit] = /^(\d{1,5})([hd])$/.exec(duration) ?? [];
	const seconds = Number(number) * (unit === "h" ? 3_600 : 86_400);
	if (seconds >= minSeconds && seconds <= maxSeconds) return seconds;
	throw new UsageError(
		"--duration must be in hours or days, such as 24h or 90d, and at most 365d",
	);
}
