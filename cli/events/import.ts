import { createHash } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { Option } from "@commander-js/extra-typings";
import { isTimeZone, zoneForm } from "../../crds/wall-clock.ts";
import {
	maxImportFiles,
	maxUploadBytes,
} from "../../packages/contracts/transfer.ts";
import { chooseCluster } from "../command/cluster.ts";
import { CommandError, transferFailed, UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print, remark } from "../command/output.ts";
import { type RestApi, restApi } from "../command/rest.ts";
import { performOperation } from "../resource/follower.ts";

/** `tidemill events import`. */
export function defineImport(events: CommandGroup): void {
	events
		.command("import")
		.description(
			"Import the rows of files as events of a source, on their dates. Each row is an event with its body, or a body itself; its time is in timestamp, received_at or time. A repeated import adds nothing. It asks the REST API (TIDEMILL_API_URL), and needs the right to create operations.",
		)
		.argument("<source>")
		.argument("<files...>", "NDJSON (.ndjson, .jsonl) or Parquet (.parquet)")
		.option(
			"--date <date>",
			"the UTC date of rows that have no time, or a number for one",
		)
		.addOption(
			new Option(
				"--rows <form>",
				"what a row is. events: an event, in body; bodies: a body itself. Needed if rows have a body and other members, unless an export wrote them",
			).choices(["events", "bodies"] as const),
		)
		.addOption(
			new Option(
				"--body <format>",
				"what a string in body is, unless the row's bodyFormat says it. text: the body's JSON text, as in rows of tidemill sql --format json; json: the body itself. Needed if such a string holds JSON",
			).choices(["json", "text"] as const),
		)
		.option(
			"--time-zone <zone>",
			"the IANA time zone of times without one in a Parquet file, where a body is made of columns. Without it, they stay without one. A row's own time without a zone is always one of UTC",
		)
		.option(
			"--skip-invalid-rows",
			"add the other rows, if some are invalid. Otherwise, nothing is added then",
		)
		.addHelpText(
			...examples(
				"tidemill events import shop week/*.ndjson",
				"tidemill events import shop old.parquet --date 2026-01-31",
				"tidemill events import shop other-system.ndjson --rows bodies",
				"tidemill events import shop rows-of-sql.ndjson --body text",
				"tidemill events import shop local.parquet --rows bodies --time-zone Europe/Berlin",
			),
		)
		.action(async (source, paths, chosen, command) => {
			const { date, rows, body, timeZone, skipInvalidRows } = chosen;
			if (rows === "bodies" && body !== undefined)
				throw new UsageError(
					"--body is for --rows events: with --rows bodies, a whole row is a body",
				);
			if (date !== undefined && !/^\d{4}-\d\d-\d\d$/.test(date))
				throw new UsageError(
					`--date is "${date}", but must be a date such as 2026-01-31`,
				);
			if (timeZone !== undefined && !isTimeZone(timeZone))
				throw new UsageError(`--time-zone is "${timeZone}". It ${zoneForm}`);
			if (paths.length > maxImportFiles)
				throw new UsageError(
					`there are ${paths.length} files, and one import takes ${maxImportFiles}`,
				);
			const options = command.optsWithGlobals();
			const cluster = await chooseCluster(options);
			const api = restApi({ ...options, namespace: cluster.namespace });
			const files: LocalFile[] = [];
			for (const path of paths) files.push(await look(path));
			await upload(api, files);
			const { status } = await performOperation(cluster, {
				type: "Import",
				sourceRef: { name: source },
				import: {
					files: files.map(({ name, sha256 }) => ({ name, sha256 })),
					...(date !== undefined && { date }),
					...(rows !== undefined && { rows: rowForms[rows] }),
					...(body !== undefined && { body: bodyForms[body] }),
					...(timeZone !== undefined && { timeZone }),
					...(skipInvalidRows && { skipInvalidRows }),
				},
			});
			for (const { file, row, message } of status?.import?.invalid ?? [])
				remark(`${file}, row ${row}: ${message}\n`);
			print(`${status!.summary}\n`);
		});
}

const rowForms = { events: "Events", bodies: "Bodies" } as const;
const bodyForms = { json: "JSON", text: "Text" } as const;

interface LocalFile {
	path: string;
	name: string;
	sha256: string;
	bytes: number;
}

async function look(path: string): Promise<LocalFile> {
	const name = basename(path);
	if (!/\.(ndjson|jsonl|parquet)$/.test(name))
		throw new UsageError(
			`the file "${path}" must be named .ndjson, .jsonl or .parquet, as its format is`,
		);
	const found = await stat(path).catch((error: Error) => {
		throw new CommandError(`the file can't be read: ${error.message}`);
	});
	if (found.size === 0 || found.size > maxUploadBytes)
		throw new CommandError(
			`the file "${path}" has ${found.size} bytes, and must have 1 to ${maxUploadBytes}`,
		);
	const hash = createHash("sha256");
	await pipeline(createReadStream(path), hash);
	return { path, name, sha256: hash.digest("hex"), bytes: found.size };
}

/** Uploads what isn't there yet, so a repeated command goes on. */
async function upload(api: RestApi, files: LocalFile[]): Promise<void> {
	const asked = files.map(({ sha256, bytes }) => ({ sha256, bytes }));
	const answer = await api.post("/uploads", { files: asked });
	const { items } = (await answer.json()) as {
		items: { sha256: string; url?: string; headers?: Record<string, string> }[];
	};
	for (const [index, file] of files.entries()) {
		const { url, headers = {} } = items[index] ?? {};
		if (url === undefined) continue;
		const body = await openAsBlob(file.path);
		const { ok, status } = await fetch(url, {
			method: "PUT",
			headers,
			body,
			redirect: "error",
		}).catch((error: Error) => {
			throw transferFailed(`uploading ${file.name}`, error);
		});
		if (!ok)
			throw new CommandError(
				`uploading ${file.name} failed with status ${status}. Repeat the command.`,
			);
	}
}
