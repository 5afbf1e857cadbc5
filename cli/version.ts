import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ApiError, TransportError } from "../packages/kube/client/errors.ts";
import { chooseCluster } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { jsonText, tableOrJson } from "./command/output.ts";

/** `tidemill version`. */
export function define(version: CommandGroup): void {
	version
		.option("--client", "only this command's version, without the cluster's")
		.addOption(tableOrJson)
		.addHelpText(...examples("tidemill version", "tidemill version --client"))
		.action(async ({ client, output }, command) => {
			const versions = {
				tidemill: ownVersion(),
				node: process.version,
				...(!client && {
					kubernetes: await serverVersion(command.optsWithGlobals()),
				}),
			};
			process.stdout.write(
				output === "json"
					? `${jsonText(versions, 2)}\n`
					: Object.entries(versions)
							.map(([name, version]) => `${name} ${version ?? "unknown"}\n`)
							.join(""),
			);
		});
}

/** Null without a cluster: the command's own version is worth something, too. */
async function serverVersion(
	options: Parameters<typeof chooseCluster>[0],
): Promise<string | null> {
	try {
		const { client } = await chooseCluster(options);
		const answer = (await client.raw("GET", "/version")) as {
			gitVersion: string;
		};
		return answer.gitVersion;
	} catch (error) {
		if (error instanceof ApiError) {
			process.stderr.write(`The cluster refuses: ${error.message}\n`);
			return null;
		}
		if (error instanceof TransportError || error instanceof CommandError)
			return null;
		throw error;
	}
}

/** The version of this Tidemill: of the package.json beside the code, or above it. */
export function ownVersion(from: string = import.meta.dirname): string {
	const file = join(from, "package.json");
	if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).version;
	return ownVersion(dirname(from));
}
