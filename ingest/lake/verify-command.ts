import { countShards, withLedgerTools } from "./ledger-tools.ts";
import type { CutGap } from "./verify/counted-shard.ts";
import { type FolderFindings, Verification } from "./verify/verification.ts";

export interface VerifyOptions {
	output: "table" | "json";
}

/**
 * `tidemill ledger verify`: compares what the bucket has with what the records of archive's shards say, and prints what differs. It
 * changes nothing. Returns 1 if anything is missing, or is there without a record.
 */
export async function main({ output }: VerifyOptions): Promise<number> {
	return withLedgerTools(async (tools) => {
		const shards = await countShards(tools);
		const verification = await Verification.open({ ...tools, shards });
		const report = output === "json" ? new JsonReport() : new LineReport();
		const totals = { objects: 0, rows: 0, missing: 0, lost: 0, unrecorded: 0 };
		let isWhole = true;
		const gaps = shards.flatMap((shard) => shard.gaps);
		report.begin(tools.shards);
		for await (const found of verification.all()) {
			totals.objects += found.objects;
			totals.rows += found.rows;
			totals.missing += found.missing.length;
			totals.lost += found.missing.reduce((sum, { rows }) => sum + rows, 0);
			totals.unrecorded += found.unrecorded.length;
			if (differs(found)) isWhole = false;
			if (differs(found) || found.accepted.length > 0) report.tell(found);
		}
		report.end(gaps, totals);
		return isWhole && gaps.length === 0 ? 0 : 1;
	});
}

interface Totals {
	objects: number;
	rows: number;
	missing: number;
	/** Rows of what is missing. */
	lost: number;
	unrecorded: number;
}

function differs({ missing, unrecorded, problem }: FolderFindings): boolean {
	return missing.length > 0 || unrecorded.length > 0 || problem !== undefined;
}

/** Commands that the end names. */
const mostCommands = 20;

/** A line for each object, which programs can cut: what it is, account, source key, date, folder and name, rows. */
class LineReport {
	/** By the dates' commands. */
	readonly #commands = new Set<string>();
	#shards = "";

	begin(shards: readonly number[]): void {
		this.#shards = shards.join(", ");
	}

	tell(found: FolderFindings): void {
		const { account, sourceKey, date, folder, problem } = found;
		const print = (what: string, name: string, more: string | number) =>
			console.log(
				[what, account, sourceKey, date, `${folder}/${name}`, more].join("\t"),
			);
		for (const { name, rows } of found.missing) print("missing", name, rows);
		for (const { name, rows } of found.accepted) print("accepted", name, rows);
		for (const name of found.unrecorded) print("unrecorded", name, "");
		if (problem !== undefined) print("unknown", "", problem);
		if (found.missing.length > 0 && this.#commands.size <= mostCommands)
			this.#commands.add(
				`tidemill ledger accept-loss --namespace ${account} --source ${sourceKey} --date ${date}`,
			);
	}

	end(gaps: readonly CutGap[], totals: Totals): void {
		for (const { stream, from, to } of gaps)
			console.log(["cuts missing", stream, from, to].join("\t"));
		const { objects, rows, missing, lost, unrecorded } = totals;
		console.log(
			`Shards ${this.#shards}: ${objects} objects with ${rows} events are there, ${missing} with ${lost} are missing, and ${unrecorded} are in no record.`,
		);
		if (this.#commands.size === 0) return;
		console.log(
			"Restore the missing objects, such as from the bucket's earlier versions. Until then Runs of these dates fail. If they are gone for good, accept the loss by date:",
		);
		for (const command of [...this.#commands].slice(0, mostCommands))
			console.log(`  ${command}`);
		if (this.#commands.size > mostCommands) console.log("  …");
	}
}

/** One document, of which only a date at a time is in memory. */
class JsonReport {
	#isFirst = true;

	begin(shards: readonly number[]): void {
		console.log(`{"shards":${JSON.stringify(shards)},"dates":[`);
	}

	tell(found: FolderFindings): void {
		console.log(`${this.#isFirst ? "" : ","}${JSON.stringify(found)}`);
		this.#isFirst = false;
	}

	end(cutGaps: readonly CutGap[], totals: Totals): void {
		const { objects, rows, missing, lost, unrecorded } = totals;
		console.log(
			`],"cutGaps":${JSON.stringify(cutGaps)},"totals":${JSON.stringify({ objects, rows, missingObjects: missing, missingRows: lost, unrecordedObjects: unrecorded })}}`,
		);
	}
}
