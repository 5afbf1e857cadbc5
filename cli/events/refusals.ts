import { Option } from "@commander-js/extra-typings";
import { timeOption } from "../command/dates.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import {
	dataOption,
	dataText,
	print,
	remark,
	table,
} from "../command/output.ts";
import { restApi } from "../command/rest.ts";

/** What the API says of a refused request (`RefusedRequest` in its document). */
interface Refusal {
	time: string;
	status: number;
	code: string;
	message: string;
	cause?: string;
	method: string;
	bytes?: number;
	leftOut?: number;
	bodyHead?: string;
}

export const bodyOption = new Option(
	"--body",
	"also what the bodies hold, which needs a permission of its own (sources/bodies)",
);

/** `tidemill sources refusals`. */
export function defineRefusals(sources: CommandGroup): void {
	sources
		.command("refusals")
		.description(
			"List the requests of the last hours that a source refused, the newest first, and what to do about them. It keeps the last 50: if many are refused at once, the first ones and then a few each hour. It asks the REST API (TIDEMILL_API_URL).",
		)
		.argument("<source>")
		.addOption(timeOption("--from <time>", "only those since"))
		.option("--limit <n>", "how many at most")
		.addOption(bodyOption)
		.addOption(dataOption)
		.addHelpText(...examples("tidemill sources refusals shop"))
		.action(async (name, { from, limit, body, output }, command) => {
			const answer = await restApi(command.optsWithGlobals()).get(
				`/sources/${encodeURIComponent(name)}/refusals`,
				{ from, limit, body: body ? "true" : undefined },
			);
			const { items } = (await answer.json()) as { items: Refusal[] };
			if (output !== "table") print(await dataText(items, output));
			else if (items.length > 0) print(refusalsText(items));
			else
				remark(
					`Source "${name}" has refused nothing in the last hours that was kept. Requests to a wrong URL are never kept: compare the sender's URL with the source's.\n`,
				);
		});
}

/** A line for each refusal and its cause, and then what to do about each code. */
export function refusalsText(items: readonly Refusal[]): string {
	const hasBodies = items.some(({ bodyHead }) => bodyHead !== undefined);
	const hasCauses = items.some(({ cause }) => cause !== undefined);
	const columns: [title: string, text: (item: Refusal) => string][] = [
		["TIME", ({ time }) => time],
		["STATUS", ({ status }) => String(status)],
		["CODE", ({ code }) => code],
		["METHOD", ({ method }) => method],
		["BYTES", ({ bytes }) => String(bytes ?? "")],
		["NOT LISTED", ({ leftOut }) => String(leftOut ?? "")],
		...(hasBodies
			? [
					["BODY", ({ bodyHead = "" }: Refusal) => bodyHead.slice(0, 80)] as [
						string,
						(item: Refusal) => string,
					],
				]
			: []),
		...(hasCauses
			? [
					["CAUSE", ({ cause = "" }: Refusal) => cause] as [
						string,
						(item: Refusal) => string,
					],
				]
			: []),
	];
	const advice = new Map(items.map(({ code, message }) => [code, message]));
	return [
		table([
			columns.map(([title]) => title),
			...items.map((item) => columns.map(([, text]) => text(item))),
		]),
		...[...advice].map(([code, message]) => `${code}: ${message}\n`),
	].join("\n");
}
