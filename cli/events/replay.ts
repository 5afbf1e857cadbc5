import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "@commander-js/extra-typings";
import type { SourceWebhook } from "../../crds/generated/types.ts";
import { chooseCluster } from "../command/cluster.ts";
import { timeOption } from "../command/dates.ts";
import { UsageError } from "../command/errors.ts";
import {
	type ClusterOptions,
	type CommandGroup,
	countOf,
	examples,
} from "../command/group.ts";
import { jsonText, outputIn, print, remark, table } from "../command/output.ts";
import { type RestApi, RestError, restApi } from "../command/rest.ts";
import {
	readSecret,
	secretFileOption,
	secretIn,
	secretStdinOption,
} from "../provider/secret.ts";
import { postToLoopback, requireLoopback } from "./loopback.ts";
import { requestOf, type StoredDelivery } from "./replay-request.ts";
import { type Signer, signerOf } from "./signing.ts";
import { type EventListing, listed } from "./stored.ts";
import { tail } from "./tail.ts";

const timeoutMs = 30_000;
/** A listing of so many events takes a minute, and a replay of them hours. */
const mostEvents = 100_000;
/** An event that has just come is found within seconds. */
const lookups = { most: 10, pauseMs: 500 };

/** What became of one event at the handler. */
interface ReplayOutcome {
	eventId: string;
	/** Absent without an answer. */
	status?: number;
	error?: string;
	ms: number;
}

/** `tidemill events replay`. */
export function defineReplay(events: CommandGroup): void {
	events
		.command("replay")
		.description(
			"Send a source's events to a handler of yours, and print what it answers: new events as they come, until Ctrl-C, or stored ones with --from or --event. This command calls the handler, from where it runs, and follows no redirects. An event has the body that was stored (a form is a form again), the captured headers and Tidemill-Event-Id. The handler can verify the provider's signature only if its header is captured (spec.webhook.capturedHeaders) and the body is JSON, or with a secret: then each event is signed anew, by the source's scheme and as of now, and goes to a handler on this machine alone. What a provider signs with a private key (Amazon SNS, a public key, a JSON Web Token) can't be signed anew. The exit code is 1 if the handler refuses an event. It asks the REST API (TIDEMILL_API_URL), and needs the right to read the bodies of events.",
		)
		.argument("<source>")
		.addOption(
			new Option(
				"--to <url>",
				"the handler, such as http://localhost:3000/hook",
			).makeOptionMandatory(),
		)
		.addOption(
			timeOption("--from <time>", "stored events since then, the oldest first"),
		)
		.option(
			"--event <id>",
			"a stored event; it can be repeated",
			(id: string, others: string[] = []) => [...others, id],
		)
		.option("--rate <n>", "how many a second at most")
		.option("--limit <n>", "how many at most")
		.addOption(secretStdinOption)
		.addOption(secretFileOption)
		.addOption(
			new Option(
				"--secret-ref <name>",
				"a Secret with the label tidemill.dev/use=true, such as the source's",
			).conflicts(["secretStdin", "secretFile"]),
		)
		.addOption(
			outputIn(["table", "json"], "how to print; json is one object in a line"),
		)
		.addHelpText(
			...examples(
				"tidemill events replay shop --to http://localhost:3000/hook",
				"tidemill events replay shop --to http://localhost:3000/hook --from 2026-03-01T00:00:00Z --rate 10",
				"tidemill events replay shop --to http://localhost:3000/hook --secret-file secret.txt",
			),
		)
		.action(async (source, { to, from, event, output, ...some }, command) => {
			if (from !== undefined && event)
				throw new UsageError("use either --from or --event");
			const handler = handlerOf(to);
			const rate = countOf("--rate", some.rate, 1_000) ?? 0;
			const limit = countOf("--limit", some.limit, mostEvents) ?? mostEvents;
			const api = restApi(command.optsWithGlobals());
			const sourcePath = `/sources/${encodeURIComponent(source)}`;
			const path = `${sourcePath}/events`;
			const signer = await chosenSigner(
				api,
				sourcePath,
				some,
				command.optsWithGlobals(),
			);
			if (signer) await requireLoopback(handler);
			const deliver = async (id: string) => {
				const found = await storedEvent(api, `${path}/${id}`);
				const outcome = await deliverTo(handler, found, signer);
				print(outcomeText(outcome, output));
				return isTaken(outcome);
			};
			if (from === undefined && !event)
				return follow(api, `${path}/tail`, deliver, { rate, limit });
			const ids = event ?? idsOf(await listed(api, path, { from }, mostEvents));
			const refused = await inTurn(ids.slice(0, limit), deliver, rate);
			const sent = Math.min(ids.length, limit);
			remark(
				`Sent ${sent} ${sent === 1 ? "event" : "events"}${refused > 0 ? `, and the handler accepted ${sent - refused}` : ""}.\n`,
			);
			if (refused > 0) process.exitCode = 1;
		});
}

/** The list begins with the newest. */
function idsOf(events: readonly EventListing[]): string[] {
	return events.map(({ eventId }) => eventId).toReversed();
}

/** One after the other, `rate` in a second at most. Returns how many failed. */
async function inTurn(
	ids: readonly string[],
	deliver: (id: string) => Promise<boolean>,
	rate: number,
): Promise<number> {
	let failed = 0;
	for (const [index, id] of ids.entries()) {
		if (rate > 0 && index > 0) await sleep(1_000 / rate);
		if (!(await deliver(id))) failed++;
	}
	return failed;
}

/** New events, in the order in which they come, until Ctrl-C or `limit` of them. */
async function follow(
	api: RestApi,
	path: string,
	deliver: (id: string) => Promise<boolean>,
	{ rate, limit }: { rate: number; limit: number },
): Promise<void> {
	const enough = new AbortController();
	let last: Promise<unknown> = Promise.resolve();
	let count = 0;
	let failure: unknown;
	// Whoever may not read bodies is refused now, and not at the first event.
	const query = { body: "true" };
	await tail(
		api,
		path,
		query,
		({ name, data }) => {
			const { eventID, message } = data as {
				eventID?: string;
				message?: string;
			};
			if (name === "open" || name === "waiting" || name === "left-out")
				remark(`${message}\n`);
			if (eventID === undefined || count >= limit) return;
			const isLast = ++count >= limit;
			last = last
				.then(() => (rate > 0 && count > 1 ? sleep(1_000 / rate) : undefined))
				.then(() => deliver(eventID))
				.catch((error) => {
					failure ??= error;
					enough.abort();
				})
				.finally(() => isLast && enough.abort());
		},
		enough.signal,
	);
	await last;
	if (failure) throw failure;
}

async function storedEvent(
	api: RestApi,
	path: string,
): Promise<StoredDelivery> {
	for (let lookup = 1; ; lookup++)
		try {
			const answer = await api.get(path, { body: "true" });
			return (await answer.json()) as StoredDelivery;
		} catch (error) {
			const isEarly =
				error instanceof RestError && [404, 503].includes(error.status);
			if (!isEarly || lookup >= lookups.most) throw error;
			await sleep(lookups.pauseMs);
		}
}

/** Signs with the secret that the person names; undefined without one. Throws {@link CommandError} if nothing can be signed with it. */
async function chosenSigner(
	api: RestApi,
	sourcePath: string,
	chosen: SecretOptions,
	options: ClusterOptions,
): Promise<Signer | undefined> {
	const { secretStdin, secretFile, secretRef: name } = chosen;
	if (!secretStdin && secretFile === undefined && name === undefined)
		return undefined;
	const answer = await api.get(sourcePath);
	const { webhook } = (await answer.json()) as { webhook?: SourceWebhook };
	const authorization = webhook?.authorization ?? { type: "None" };
	const refs = authorization.signature?.secretRefs ?? [];
	const secret =
		name === undefined
			? (await readSecret(chosen))!
			: await secretIn(await chooseCluster(options), {
					name,
					key: refs.find((ref) => ref.name === name)?.key ?? "secret",
				});
	return signerOf({ authorization }, secret);
}

interface SecretOptions {
	secretStdin?: boolean | undefined;
	secretFile?: string | undefined;
	secretRef?: string | undefined;
}

/** Calls the handler once. Whatever becomes of that is an outcome. */
async function deliverTo(
	handler: URL,
	event: StoredDelivery,
	signer: Signer | undefined,
): Promise<ReplayOutcome> {
	const { eventId } = event;
	const target = new URL(handler);
	for (const [name, value] of Object.entries(event.queryParameters ?? {}))
		target.searchParams.append(name, value);
	const startMs = performance.now();
	const ms = () => Math.round(performance.now() - startMs);
	const signal = AbortSignal.timeout(timeoutMs);
	try {
		if (signer) {
			const signed = signer(event, target);
			const status = await postToLoopback(signed.target, signed, signal);
			return { eventId, status, ms: ms() };
		}
		const answer = await fetch(target, {
			...requestOf(event),
			method: "POST",
			redirect: "manual",
			signal,
		});
		await answer.body?.cancel();
		return { eventId, status: answer.status, ms: ms() };
	} catch (error) {
		const { cause, message } = error as Error;
		const reason = (cause as Error | undefined)?.message || message;
		return { eventId, error: reason, ms: ms() };
	}
}

function isTaken({ status = 0 }: ReplayOutcome): boolean {
	return status >= 200 && status < 300;
}

function outcomeText(
	{ eventId, status, error, ms }: ReplayOutcome,
	output: "table" | "json",
): string {
	if (output === "json") return `${jsonText({ eventId, status, error, ms })}\n`;
	const answer = status === undefined ? `no answer: ${error}` : String(status);
	return table([[new Date().toISOString(), eventId, answer, `${ms} ms`]]);
}

function handlerOf(text: string): URL {
	const url = URL.parse(text);
	if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password)
		return url;
	throw new UsageError(
		`--to is "${text}", but must be the handler's address, such as http://localhost:3000/hook`,
	);
}
