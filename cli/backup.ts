import { backupText } from "./backup/backup-text.ts";
import { readKept } from "./backup/kept.ts";
import { chooseCluster } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";

/** `tidemill backup`. */
export function define(backup: CommandGroup): void {
	backup
		.addHelpText(
			"after",
			"\nPrints a file that kubectl apply takes: tracking plans with their ConfigMaps, destinations, sources and pipelines, of all namespaces unless --namespace names one. At its head stands what else a restore needs, by name: Secrets, ServiceAccounts, volumes and the bucket. It holds no Secret; a password that you wrote into a spec, such as into a proxy's URL, is in it. It reads with your own rights, and no Secret's values.",
		)
		.addHelpText(
			...examples(
				"tidemill backup > backup.new && mv backup.new backup.yaml",
				"tidemill backup -n shop > shop.new && mv shop.new shop.yaml",
			),
		)
		.action(async (_, command) => {
			const options = command.optsWithGlobals();
			const { client } = await chooseCluster(options);
			const kept = await readKept(client, options.namespace);
			if (kept.manifests.length === 0)
				throw new CommandError(
					`There is nothing to back up${options.namespace ? ` in namespace ${options.namespace}` : ""}.`,
				);
			print(await backupText({ ...kept, time: new Date().toISOString() }));
		});
}
