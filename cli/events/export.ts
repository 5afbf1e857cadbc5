import { createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option } from "@commander-js/extra-typings";
import type { Operation } from "../../crds/generated/types.ts";
import { chooseCluster } from "../command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "../command/dates.ts";
import { CommandError, transferFailed, UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print, remark } from "../command/output.ts";
import { type RestApi, restApi } from "../command/rest.ts";
import { performOperation } from "../resource/follower.ts";
import { type BodyFormat, bodyFormatIn, writeNdjson } from "./ndjson.ts";

/** `tidemill events export`. */
export function defineExport(events: CommandGroup): void {
	events
		.command("export")
		.description(
			"Download a source's stored events, a file or more for each date. Without dates it takes all that are kept. It asks the REST API (TIDEMILL_API_URL), and needs the right to read the bodies of events. Files that are there already are left as they are.",
		)
		.argument("<source>")
		.addOption(fromOption)
		.addOption(toOption)
		.addOption(daysOption)
		.addOption(
			new Option("--format <format>", "the format of the files")
				.choices(["ndjson", "parquet"] as const)
				.default("ndjson" as const),
		)
		.addOption(
			new Option(
				"--body <format>",
				"how a body stands in a line of NDJSON. json: as a value, whose white space may change; text: as a string, which has each byte that was sent. Default: json. Each line says it (bodyFormat)",
			).choices(["json", "text"] as const),
		)
		.addOption(
			new Option(
				"-o, --output <directory>",
				"where the files go",
			).makeOptionMandatory(),
		)
		.addHelpText(
			...examples(
				"tidemill events export shop --from 2026-01-01 --to 2026-01-31 -o january",
				"tidemill events export shop --days 7 --body text -o week",
				"tidemill events export shop --days 7 --format parquet -o week",
			),
		)
		.action(async (source, { format, body, output, ...days }, command) => {
			if (format === "parquet" && body === "json")
				throw new UsageError(
					"--body json is for --format ndjson: in a Parquet file a body is text",
				);
			const dates = datesOf(days);
			const options = command.optsWithGlobals();
			const cluster = await chooseCluster(options);
			// The Export is in the cluster's namespace, whichever is the token's own.
			const api = restApi({ ...options, namespace: cluster.namespace });
			// Who may not read bodies makes no Operation for nothing.
			const right = { body: "true", limit: "1" };
			await api.get(`/sources/${encodeURIComponent(source)}/refusals`, right);
			const operation = await performOperation(cluster, {
				type: "Export",
				sourceRef: { name: source },
				...dates,
			});
			await mkdir(output, { recursive: true });
			for await (const files of pagesOf(api, operation)) {
				otherExports(output, await readdir(output), files);
				for (const file of files) {
					const path = await download(file, output, format, body ?? "json");
					print(`${path}\n`);
				}
			}
			remark(`${operation.status!.summary}\n`);
		});
}

interface ExportedFile {
	name: string;
	bytes: number;
	url: string;
}

/** A page has all files of its dates. */
async function* pagesOf(
	api: RestApi,
	{ metadata }: Operation,
): AsyncGenerator<ExportedFile[]> {
	let cursor: string | undefined;
	do {
		const path = `/operations/${encodeURIComponent(metadata.name)}/files`;
		const answer = await api.get(path, { cursor });
		const page = (await answer.json()) as {
			items: ExportedFile[];
			cursor?: string;
		};
		yield page.items;
		cursor = page.cursor;
	} while (cursor !== undefined);
}

/** A file has its name only once it is whole, so a repeated command downloads what is missing. Returns its path. */
async function download(
	{ name, bytes, url }: ExportedFile,
	directory: string,
	format: "ndjson" | "parquet",
	bodyFormat: BodyFormat,
): Promise<string> {
	if (!/^[0-9a-f-]+\.parquet$/.test(name))
		throw new CommandError(`the REST API names a file "${name}"`);
	const parquet = join(directory, name);
	const path =
		format === "parquet" ? parquet : parquet.replace(/parquet$/, "ndjson");
	if (await exists(path)) {
		if (format === "ndjson") await otherBodies(path, bodyFormat);
		return path;
	}
	const part = `${parquet}.part`;
	try {
		const failed = (error: Error) => {
			throw transferFailed(`downloading ${name}`, error);
		};
		const { ok, status, body } = await fetch(url, {
			redirect: "error",
		}).catch(failed);
		if (!ok || !body)
			throw new CommandError(
				`downloading ${name} failed with status ${status}. Repeat the command: what is there is left as it is.`,
			);
		await pipeline(Readable.fromWeb(body), createWriteStream(part)).catch(
			failed,
		);
		const { size } = await stat(part);
		if (size !== bytes)
			throw new CommandError(`${name} has ${size} bytes instead of ${bytes}`);
		if (format === "parquet") await rename(part, path);
		else {
			await writeNdjson(part, `${path}.part`, bodyFormat);
			await rename(`${path}.part`, path);
		}
		return path;
	} finally {
		await rm(part, { force: true });
	}
}

/** Refuses a file of an export whose bodies stand in it in the other way. */
async function otherBodies(path: string, format: BodyFormat): Promise<void> {
	const file = await open(path);
	const { buffer, bytesRead } = await file.read(Buffer.alloc(200), 0, 200, 0);
	await file.close();
	const there = bodyFormatIn(buffer.toString("utf8", 0, bytesRead));
	if (there !== format)
		throw new CommandError(
			`${path} is there already, of an export with --body ${there}. Remove it, or choose another folder, to have its bodies as ${format}.`,
		);
}

function exists(path: string): Promise<boolean> {
	return stat(path).then(
		() => true,
		() => false,
	);
}

const named = /^(\d{4}-\d\d-\d\d)-([0-9a-f]+)\.(?:ndjson|parquet)$/;

/**
 * Refuses a folder that has other files of the dates of these: once a date is compacted, other files have the same events, and
 * beside the earlier ones each would be there twice.
 * @param page all files of each date.
 */
function otherExports(
	folder: string,
	there: readonly string[],
	page: readonly { name: string }[],
): void {
	const digests = new Map<string, Set<string>>();
	for (const { name } of page) {
		const [, date, digest] = named.exec(name) ?? [];
		if (!date || !digest) continue;
		digests.set(date, (digests.get(date) ?? new Set()).add(digest));
	}
	for (const name of there) {
		const [, date, digest] = named.exec(name) ?? [];
		if (!date || !digest) continue;
		if (digests.get(date)?.has(digest) === false)
			throw new CommandError(
				`${join(folder, name)} is of another export: of another source, or archive has put the events of ${date} into other files since, and they would be there twice. Remove the files ${join(folder, `${date}-*`)} and repeat the command, or choose another folder.`,
			);
	}
}
