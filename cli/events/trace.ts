import { type CommandGroup, examples } from "../command/group.ts";
import { dataOption, dataText, print, table } from "../command/output.ts";
import { restApi } from "../command/rest.ts";
import type { EventListing } from "./stored.ts";

/** What the API says of an event (`EventReceipt` in its document). */
export interface Receipt extends Omit<EventListing, "violations"> {
	source: string;
	trackingPlan?: string;
	violations?: { kind: string }[];
	stage: string;
	object?: string;
	storedTime?: string;
	released?: { time: string; object: string };
	loads?: {
		pipeline: string;
		table: string;
		state: string;
		filtered?: true;
		partition?: string;
		run?: string;
		loadedTime?: string;
		loadedBefore?: string;
		nextRunTime?: string;
	}[];
}

/** `tidemill trace`. */
export function define(trace: CommandGroup): void {
	trace
		.argument("<event-id>", "the event_id that the webhook answered")
		.addOption(dataOption)
		.addHelpText(
			...examples("tidemill trace 019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11"),
		)
		.action(async (id, { output }, command) => {
			const answer = await restApi(command.optsWithGlobals()).get(
				`/events/${encodeURIComponent(id)}`,
			);
			const receipt = (await answer.json()) as Receipt;
			print(
				output === "table"
					? receiptText(receipt)
					: await dataText(receipt, output),
			);
		});
}

/** A line for each step, in the order in which they happen. */
export function receiptText(receipt: Receipt): string {
	const { source, time, kind, bytes, type, stage, object } = receipt;
	const { violations = [], trackingPlan, released, loads } = receipt;
	const isHeld = receipt.state === "quarantined";
	const what = `source ${source}: ${bytes} bytes (${kind})${type ? `, type ${type}` : ""}`;
	return table([
		receipt.state === "imported"
			? ["imported", receipt.storedTime ?? "", `into ${what}, of ${time}`]
			: ["received", time, `by ${what}`],
		[
			"stored",
			"",
			stage === "Buffer" ? "on disk, on its way to the bucket" : (object ?? ""),
		],
		...violations.map(({ kind }) => ["violation", "", kind]),
		...(isHeld
			? [
					[
						"held",
						"",
						`in quarantine by tracking plan ${trackingPlan ?? ""}. Release it: tidemill quarantine release ${source} --event-id ${receipt.eventId}`,
					],
				]
			: []),
		...(released ? [["released", released.time, released.object]] : []),
		...(loads ?? []).map((load) => {
			// As a query of any warehouse finds the event's day.
			const place = `${load.table}${load.partition ? ` where date = '${load.partition}'` : ""}`;
			const condition = load.filtered
				? ", if it matches the pipeline's filter"
				: "";
			if (load.state !== "Loaded")
				return [
					load.state.toLowerCase(),
					load.nextRunTime ?? "",
					`pipeline ${load.pipeline} → ${place}${wordsOf[load.state] ?? ""}${condition}`,
				];
			return [
				"loaded",
				load.loadedTime ?? load.loadedBefore ?? "",
				`pipeline ${load.pipeline} → ${place}${load.run ? ` by run ${load.run}` : ", or earlier: that run is removed"}${condition}`,
			];
		}),
	]);
}

const wordsOf: Partial<Record<string, string>> = {
	Waiting: ": the next run loads it",
	Held: ": not loaded while it is in quarantine",
	Excluded: ": its date is none of the pipeline's",
};
