import { Option } from "@commander-js/extra-typings";
import { timeOption } from "../command/dates.ts";
import { type CommandGroup, countOf, examples } from "../command/group.ts";
import {
	dataOption,
	dataText,
	outputIn,
	print,
	remark,
	table,
} from "../command/output.ts";
import { type RestApi, restApi } from "../command/rest.ts";
import { bodyOption } from "./refusals.ts";

/** An event in a list, as the API has it (`EventList` in its document). */
export interface EventListing {
	eventId: string;
	time: string;
	type?: string;
	kind: string;
	bytes: number;
	state: string;
	violations?: string[];
}

const defaultEvents = 20;
/** Of one answer of the API. */
const mostOfPage = 1_000;

/** `tidemill events list` and `tidemill events get`. */
export function defineStored(events: CommandGroup): void {
	events
		.command("list")
		.description(
			"List the stored events of a source, the newest first, without their bodies. It asks the REST API (TIDEMILL_API_URL).",
		)
		.argument("<source>")
		.addOption(timeOption("--from <time>", "only those since"))
		.addOption(timeOption("--to <time>", "only those until then"))
		.option("--type <type>", "only those of this type")
		.addOption(
			new Option("--state <state>", "only those in this state").choices([
				"accepted",
				"quarantined",
				"released",
				"imported",
			] as const),
		)
		.option(
			"--match <place=value>",
			"only those with this value in the body (/order/id=1001), a captured header (x-id=…) or a captured query parameter (?shop=…); without --from, of the last 24 hours",
		)
		.option("--limit <n>", `how many at most; without it ${defaultEvents}`)
		.addOption(dataOption)
		.addHelpText(
			...examples(
				"tidemill events list shop",
				"tidemill events list shop --state quarantined --from 2026-03-01T00:00:00Z",
				"tidemill events list shop --match /order/id=1001 --from 2d",
			),
		)
		.action(async (name, { limit, output, ...query }, command) => {
			const count = countOf("--limit", limit, 10_000) ?? defaultEvents;
			const api = restApi(command.optsWithGlobals());
			const path = `/sources/${encodeURIComponent(name)}/events`;
			const items = await listed(api, path, query, count);
			if (output !== "table") print(await dataText(items, output));
			else if (items.length > 0) print(eventsText(items));
			else
				remark(
					`No such event of source "${name}" is stored. Whether requests are refused: tidemill sources refusals ${name}\n`,
				);
		});
	events
		.command("get")
		.description(
			"Show a stored event of a source, and where it is. It asks the REST API (TIDEMILL_API_URL).",
		)
		.argument("<source>")
		.argument("<event-id>")
		.addOption(bodyOption)
		.addOption(outputIn(["json", "yaml"]))
		.addHelpText(
			...examples(
				"tidemill events get shop 019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11 --body",
			),
		)
		.action(async (name, id, { body, output }, command) => {
			const answer = await restApi(command.optsWithGlobals()).get(
				`/sources/${encodeURIComponent(name)}/events/${encodeURIComponent(id)}`,
				{ body: body ? "true" : undefined },
			);
			print(await dataText(await answer.json(), output));
		});
}

/** Of as many pages as it takes. */
export async function listed(
	api: RestApi,
	path: string,
	query: Record<string, string | undefined>,
	count: number,
): Promise<EventListing[]> {
	const items: EventListing[] = [];
	let cursor: string | undefined;
	do {
		const limit = String(Math.min(mostOfPage, count - items.length));
		const answer = await api.get(path, { ...query, limit, cursor });
		const page = (await answer.json()) as {
			items: EventListing[];
			cursor?: string;
			reached?: string;
		};
		items.push(...page.items);
		cursor = page.cursor;
		if (query.match !== undefined && page.reached !== undefined)
			remark(`Looked back to ${page.reached}: ${items.length} found.\n`);
	} while (cursor !== undefined && items.length < count);
	return items;
}

export function eventsText(items: readonly EventListing[]): string {
	return table([
		["EVENT ID", "TIME", "STATE", "TYPE", "BYTES", "VIOLATIONS"],
		...items.map(
			({ eventId, time, state, type = "", bytes, violations = [] }) => [
				eventId,
				time,
				state,
				type,
				String(bytes),
				violations.join(","),
			],
		),
	]);
}
