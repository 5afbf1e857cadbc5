import { EventStreamParser } from "../../packages/service/event-stream.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import { CommandError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { jsonText, outputIn, print, remark, table } from "../command/output.ts";
import { type RestApi, RestError, restApi } from "../command/rest.ts";
import { bodyOption } from "./refusals.ts";

const backoff = { baseMs: 500, maxMs: 10_000 };
/** Ends that connecting again doesn't help. */
const lasting = new Set(["Unauthorized", "Forbidden", "NotFound", "Conflict"]);

/** `tidemill events tail`. */
export function defineTail(events: CommandGroup): void {
	events
		.command("tail")
		.description(
			"Print a source's new events as they come, until Ctrl-C. It asks the REST API (TIDEMILL_API_URL).",
		)
		.argument("<source>")
		.option("--refused", "also requests that are refused")
		.addOption(bodyOption)
		.addOption(
			outputIn(["table", "json"], "how to print; json is one object in a line"),
		)
		.addHelpText(
			...examples(
				"tidemill events tail shop",
				"tidemill events tail shop --refused --output json",
			),
		)
		.action(async (name, { refused, body, output }, command) => {
			const api = restApi(command.optsWithGlobals());
			const path = `/sources/${encodeURIComponent(name)}/events/tail`;
			const query = {
				refused: refused ? "true" : undefined,
				body: body ? "true" : undefined,
			};
			await tail(api, path, query, (event) => show(event, output));
		});
}

/** Connects again whenever the connection ends, behind the last event. Throws {@link CommandError} if that can't help. */
export async function tail(
	api: Pick<RestApi, "get">,
	path: string,
	query: Record<string, string | undefined>,
	onEvent: (event: TailEvent) => void,
	signal = new AbortController().signal,
	/** Another one is for tests. */
	wait = pause,
): Promise<void> {
	let lastId: string | undefined;
	let failures = 0;
	let wasOpen = false;
	while (!signal.aborted) {
		try {
			const answer = await api.get(path, query, {
				headers: {
					accept: "text/event-stream",
					...(lastId && { "last-event-id": lastId }),
				},
				signal,
			});
			wasOpen = true;
			for await (const event of readServerEvents(answer.body!)) {
				if (event.name === "end") {
					throwIfLasting(event);
					break;
				}
				failures = 0;
				lastId = event.id ?? lastId;
				onEvent(event);
			}
		} catch (error) {
			if (signal.aborted) return;
			if (!wasOpen || error instanceof Lasting || isRefusal(error)) throw error;
		}
		await wait(backoffMs(++failures, backoff), signal);
	}
}

/** What the API refuses, it would refuse again. 429 says when it wouldn't. */
function isRefusal(error: unknown): boolean {
	const status = error instanceof RestError ? error.status : 500;
	return status < 500 && status !== 429;
}

class Lasting extends CommandError {}

function throwIfLasting({ data }: TailEvent): void {
	const { reason, message } = data as { reason: string; message: string };
	if (lasting.has(reason)) throw new Lasting(`${message} (${reason})`);
}

/** Events go to standard output, remarks to standard error. */
function show(event: TailEvent, output: "table" | "json"): void {
	const { name, data } = event;
	const isRemark = ["open", "waiting", "left-out"].includes(name);
	if (isRemark) {
		const { message, count } = data as { message: string; count?: number };
		remark(`${message}${count === undefined ? "" : ` Left out: ${count}.`}\n`);
	} else
		print(
			output === "json"
				? `${jsonText({ event: name, ...data })}\n`
				: tailLine(event),
		);
}

export interface TailEvent {
	id?: string | undefined;
	name: string;
	data: object;
}

/** The events of a stream of the API, whose data is a JSON object each. */
export async function* readServerEvents(
	body: AsyncIterable<Uint8Array>,
): AsyncGenerator<TailEvent> {
	const parser = new EventStreamParser();
	const decoder = new TextDecoder();
	for await (const chunk of body)
		for (const { id, event, data } of parser.push(
			decoder.decode(chunk, { stream: true }),
		))
			yield { id, name: event, data: JSON.parse(data) };
}

/** One line for an event or a refused request: time, what became of it, and what identifies it. */
export function tailLine({ name, data }: TailEvent): string {
	const { time, eventID, type, bytes, violations, body, ...refusal } =
		data as Partial<Record<string, string>>;
	const cells =
		name === "refused"
			? [`${refusal.status} ${refusal.code}`, refusal.bodyHead]
			: [eventID, type, `${bytes} B`, violations && String(violations), body];
	return table([
		[time ?? "", name.padEnd(11), ...cells.filter(Boolean).map(String)],
	]);
}
