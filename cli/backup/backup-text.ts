import { apiVersionOf } from "../../packages/kube/resource.ts";
import { CommandError } from "../command/errors.ts";
import { yamlText } from "../command/output.ts";
import { type BackedUpObject, backedUpKinds, type Kept } from "./kept.ts";
import type { Needed } from "./needed.ts";

/** What was kept, and when. */
export interface Backup extends Kept {
	/** RFC 3339. */
	time: string;
}

const title = "# Tidemill backup 1";
const end = "# End of the backup";

/**
 * A backup as a file that `kubectl apply --filename` takes, with what else is needed in comments at its head. It has no values of
 * Secrets.
 */
export async function backupText(backup: Backup): Promise<string> {
	const { time, namespace = "*", manifests, needed } = backup;
	const lines = [
		[title, time, namespace].join("\t"),
		"# Without what stands here after a '#', which this file doesn't hold, a restore isn't whole:",
		...needed.map(({ kind, namespace, name, use }) =>
			["#", kind, namespace, name, use].join("\t"),
		),
	];
	const documents = await Promise.all(manifests.map((each) => yamlText(each)));
	return [
		...lines.map((line) => `${line}\n`),
		...documents.map((text) => `---\n${text}`),
		`${end}\n`,
	].join("");
}

/** Throws {@link CommandError} unless it is a whole backup. @param name of the file, for messages. */
export async function parseBackup(text: string, name: string): Promise<Backup> {
	const [first = "", ...lines] = text.split("\n");
	const [head, time = "", namespace] = first.split("\t");
	if (head !== title)
		throw new CommandError(
			`${name} isn't a backup that this version of tidemill reads. Take the version that has written it, or another backup.`,
		);
	if (!text.endsWith(`${end}\n`))
		throw new CommandError(
			`${name} ends too early, so it isn't a whole backup. Take another one.`,
		);
	const { parseAllDocuments } = await import("yaml");
	const values = parseAllDocuments(text, { logLevel: "error" }).map(
		(document) => document.toJS() as BackedUpObject | null,
	);
	return {
		time,
		namespace: namespace === "*" ? undefined : namespace,
		manifests: values.filter(
			(value) => value !== null && isOurs(value),
		) as BackedUpObject[],
		needed: lines.flatMap((line) => {
			const [sign, kind, namespace, name, use] = line.split("\t");
			return sign === "#" && use !== undefined
				? ({ kind, namespace, name, use } as Needed)
				: [];
		}),
	};
}

/** Somebody may have added others to the file. */
function isOurs({ apiVersion, kind }: BackedUpObject): boolean {
	return backedUpKinds.some(
		(each) => each.kind === kind && apiVersionOf(each) === apiVersion,
	);
}
