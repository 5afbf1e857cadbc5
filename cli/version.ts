import {
	KubeApiError,
	TransportError,
} from "../packages/kube/client/errors.ts";
import { chooseCluster } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { dataOption, dataText, print, remark } from "./command/output.ts";
import { ownVersion } from "./command/own-version.ts";

/** `tidemill version`. */
export function define(version: CommandGroup): void {
	version
		.option("--client", "only this command's version, without the cluster's")
		.addOption(dataOption)
		.addHelpText(...examples("tidemill version", "tidemill version --client"))
		.action(async ({ client, output }, command) => {
			const versions = {
				tidemill: ownVersion(),
				node: process.version,
				...(!client && {
					kubernetes: await serverVersion(command.optsWithGlobals()),
				}),
			};
			print(
				output === "table"
					? Object.entries(versions)
							.map(([name, version]) => `${name} ${version ?? "unknown"}\n`)
							.join("")
					: await dataText(versions, output),
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
		if (error instanceof KubeApiError) {
			remark(`The cluster refuses: ${error.message}\n`);
			return null;
		}
		if (error instanceof TransportError || error instanceof CommandError)
			return null;
		throw error;
	}
}
