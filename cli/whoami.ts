import { type Rights, rightsIn } from "../api/console/visitor.ts";
import { ownUser } from "../packages/kube/client/self-review.ts";
import { readCluster } from "./command/cluster.ts";
import { NoKubeconfig } from "./command/errors.ts";
import {
	type ClusterOptions,
	type CommandGroup,
	examples,
} from "./command/group.ts";
import type { Identity } from "./command/identity.ts";
import { dataText, outputIn, print, table } from "./command/output.ts";
import { serviceAccountOf } from "./command/permission.ts";
import { RestError, restApi } from "./command/rest.ts";

/** As whom commands ask a server. */
interface Actor {
	asks: "Kubernetes" | "REST API";
	address: string;
	user: string;
	namespace: string;
	/** Undefined if nobody says them. */
	rights: string[] | undefined;
	from: string;
}

/** `tidemill tokens whoami`. */
export function defineWhoami(tokens: CommandGroup): void {
	tokens
		.command("whoami")
		.description(
			"Print as whom commands act: with the kubeconfig in Kubernetes, and at the REST API if TIDEMILL_API_URL is set, each with the rights in the namespace and where the identity is from.",
		)
		.addOption(outputIn(["table", "json", "yaml"]))
		.addHelpText(...examples("tidemill tokens whoami -n shop"))
		.action(async ({ output }, command) => {
			const options = command.optsWithGlobals();
			const isAsked = Boolean(process.env.TIDEMILL_API_URL);
			const actors = [
				// Whoever has a token alone needs no kubeconfig.
				await inKubernetes(options).catch((error) => {
					if (isAsked && error instanceof NoKubeconfig) return undefined;
					throw error;
				}),
				isAsked ? await atRestApi(options) : undefined,
			].filter((actor) => actor !== undefined);
			print(
				output === "table" ? tableOf(actors) : await dataText(actors, output),
			);
		});
}

async function inKubernetes(options: ClusterOptions): Promise<Actor> {
	const { client, config, namespace } = await readCluster(options);
	const [{ username }, rights] = await Promise.all([
		ownUser(client),
		rightsIn(client, namespace),
	]);
	const context = config.getCurrentContext();
	const file =
		options.kubeconfig !== undefined
			? "--kubeconfig"
			: process.env.KUBECONFIG
				? "KUBECONFIG"
				: "~/.kube/config";
	return {
		asks: "Kubernetes",
		address: config.getCurrentCluster()?.server ?? "",
		user: username,
		namespace,
		rights: scopesOf(rights),
		from: `${file}, context ${context}`,
	};
}

const origins: Record<Identity["from"], string> = {
	variable: "TIDEMILL_API_TOKEN",
	local: "make up's token",
	kubeconfig: "the kubeconfig's token",
	own: "a token of 15 minutes, made with the kubeconfig",
};

async function atRestApi(options: ClusterOptions): Promise<Actor> {
	const api = restApi(options);
	const { token, namespace, from } = await api.identity();
	const account = serviceAccountOf(token);
	const here = namespace ?? account?.namespace ?? "default";
	// What the console asks for its visitor, with the same token.
	const session = await api
		.get("/../console/session", { namespace: here })
		.then((answer) => answer.json())
		.catch((error) => {
			// No console is served.
			if (error instanceof RestError && error.status === 404) return undefined;
			throw error;
		});
	const seen = session as Partial<Actor & { rights: Rights }> | undefined;
	return {
		asks: "REST API",
		address: process.env.TIDEMILL_API_URL!,
		user:
			seen?.user ??
			(account
				? `system:serviceaccount:${account.namespace}:${account.name}`
				: "unknown"),
		namespace: seen?.namespace ?? here,
		rights: seen?.rights && scopesOf(seen.rights),
		from: origins[from],
	};
}

/** The rights in the words of tokens' scopes, and `bodies`, which decides who sees what senders wrote. */
function scopesOf(rights: Rights): string[] {
	const may = (verb: string, resource: string) =>
		rights[resource]?.includes(verb) ?? false;
	return Object.entries({
		read: may("list", "sources"),
		run: may("create", "runs"),
		edit: may("create", "sources") && may("create", "pipelines"),
		bodies: may("get", "sources/bodies"),
		tokens: may("create", "tokens"),
	}).flatMap(([scope, isHeld]) => (isHeld ? [scope] : []));
}

function tableOf(actors: Actor[]): string {
	return table([
		["ASKS", "ADDRESS", "USER", "NAMESPACE", "RIGHTS", "FROM"],
		...actors.map(({ asks, address, user, namespace, rights, from }) => [
			...[asks, address, user, namespace],
			rights ? rights.join(",") || "none" : "unknown",
			from,
		]),
	]);
}
