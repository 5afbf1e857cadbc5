import { finished } from "node:stream";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { heldRights } from "../caller/rights.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { requestErrorOf } from "../http/error-translation.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import {
	answerWithStream,
	EventStream,
	OpenStreams,
} from "../http/event-stream.ts";
import { apiResources, type Resource } from "./api-resource.ts";
import type { SharedView, WatchedKind } from "./shared-watch.ts";
import { resourceView, runView } from "./views.ts";

/** Two questions that fail in a row end a stream, so nobody sees anything a minute after the right or the token has ended. */
const reviewEveryMs = 25_000;
/** An apiserver that is starting forbids everything for a moment. */
const reviewAgainMs = 5_000;
/** How many objects that are there a stream begins with, the newest. Of kinds whose objects are few, all are. */
const mostAtFirst = 500;
/** Changed objects that a reader may not have taken yet. It gets each once, as it is when the reader takes it. */
const maxPending = 50_000;
/**
 * An object whose JSON is longer is sent in turn: until its reader has taken it, it is in memory once more, beside that of a thousand
 * other readers.
 */
const longText = 64 * 1024;
const longTexts = new FairLimit({ atOnce: 32, atOncePerOwner: 8 });
/** A reader that takes longer for one lets the account's others wait. */
const takeWithinMs = 30_000;
/** An object may be as large as etcd takes, 1.5 MB. */
const maxUnreadBytes = 4 * 1024 * 1024;

/** By plural. */
export const watchedKinds = new Map<string, WatchedKind & { first?: number }>([
	...apiResources.map(
		({ kind }) =>
			[
				kind.plural,
				{
					kind,
					view: (object: object) => resourceView(object as Resource),
					...(kind.plural === "operations" && { first: mostAtFirst }),
				},
			] as const,
	),
	[
		runKind.plural,
		{
			kind: runKind,
			view: (object: object) => runView(object as Run),
			fields: ["spec.pipelineRef.name", "status.phase", "status.trigger"],
			first: mostAtFirst,
		},
	],
]);

/** The names of the kinds whose changes are sent. */
export const changeKinds = [...watchedKinds.keys()];

const streams = new OpenStreams("streams of changes", {
	ofAccount: 1_000,
	ofAll: 4_000,
});

/** `GET /v1/changes`: the objects of an account and their changes, as server-sent events. */
export const followChanges: Handler = async (request, reply) => {
	const kinds = await kindsOf(request);
	// The place is taken for as long as the connection.
	finished(reply.raw, streams.enter(request.account));
	const stream = new EventStream(maxUnreadBytes, reply.raw);
	const review = reviewOf(request, kinds, stream);
	const changes = new PendingChanges(kinds, request, review, stream);
	return answerWithStream(request, reply, stream, {
		name: "a stream of changes",
		work: () =>
			changes.run().catch((error) => {
				const { code, message } = requestErrorOf(error);
				stream.end(code, message);
			}),
		every: [[review, reviewEveryMs]],
	});
};

/** What a reader has not got yet. It is bounded by the number of objects, not by that of their changes. */
class PendingChanges {
	readonly #stream: EventStream;
	readonly #account: string;
	readonly #views: Map<string, SharedView>;
	/** `<kind>/<name>` each. */
	readonly #pending = new Set<string>();
	/** Kinds whose objects that are there are pending, or were sent. */
	readonly #begun = new Set<string>();
	readonly #left = Promise.withResolvers<void>();
	#wake = Promise.withResolvers<void>();

	constructor(
		kinds: readonly string[],
		{ account, client, server }: ApiRequest,
		review: () => Promise<void>,
		stream: EventStream,
	) {
		this.#stream = stream;
		this.#account = account;
		this.#views = new Map(
			inOrder(kinds).map((kind) => [
				kind,
				server.sharedWatches.join(watchedKinds.get(kind)!, account, {
					client,
					changed: (name) => this.#add(kind, name),
					failed: () => void review(),
				}),
			]),
		);
		const leave = () => {
			for (const view of this.#views.values()) view.leave();
			this.#left.resolve();
			this.#wake.resolve();
		};
		if (stream.signal.aborted) leave();
		else stream.signal.addEventListener("abort", leave);
	}

	/** Sends what is there kind by kind, that this was all, and then what changes, until the stream ends. */
	async run(): Promise<void> {
		const { signal } = this.#stream;
		for (const [kind, view] of this.#views) {
			await Promise.race([view.listed, this.#left.promise]);
			if (signal.aborted) return;
			this.#begun.add(kind);
			const names = view.names().slice(0, watchedKinds.get(kind)!.first);
			for (const name of names) this.#pending.add(`${kind}/${name}`);
			await this.#sendPending();
			this.#stream.send("listed", { kind });
		}
		this.#stream.send("ready", {});
		while (!signal.aborted) {
			await this.#sendPending();
			if (this.#pending.size > 0) continue;
			this.#wake = Promise.withResolvers();
			await this.#wake.promise;
		}
	}

	#add(kind: string, name: string): void {
		if (!this.#begun.has(kind)) return;
		this.#pending.add(`${kind}/${name}`);
		if (this.#pending.size > maxPending)
			this.#stream.end(
				"SlowReader",
				"The client reads more slowly than things change. Connect again.",
			);
		this.#wake.resolve();
	}

	/** Sends what is pending, at the reader's pace. */
	async #sendPending(): Promise<void> {
		for (const key of this.#pending) {
			await this.#stream.whenRead();
			if (this.#stream.signal.aborted) return;
			this.#pending.delete(key);
			const [kind, name] = key.split("/") as [string, string];
			const view = this.#views.get(kind)!;
			if (view.lengthOf(name) <= longText) await this.#send(kind, name, view);
			else
				await longTexts.run(this.#account, async () => {
					await this.#send(kind, name, view);
					await this.#stream.whenRead(takeWithinMs);
				});
		}
	}

	async #send(kind: string, name: string, view: SharedView): Promise<void> {
		const { signal } = this.#stream;
		const json = signal.aborted ? undefined : await view.get(name);
		if (json === undefined) this.#stream.send("deleted", { kind, name });
		else this.#stream.sendJson("object", `{"kind":"${kind}","object":${json}}`);
	}
}

/** Those of which there may be thousands last: listing them takes long, and holds up no other kind. */
function inOrder(kinds: readonly string[]): string[] {
	const isLong = (kind: string) => watchedKinds.get(kind)!.first !== undefined;
	return kinds.toSorted((a, b) => Number(isLong(a)) - Number(isLong(b)));
}

/** The kinds that are asked for, or all that the caller may list and watch. Throws a 403 if the caller may not see one. */
async function kindsOf(request: ApiRequest): Promise<string[]> {
	const asked = request.query.kinds?.split(",");
	const unknown = asked?.find((kind) => !watchedKinds.has(kind));
	if (unknown !== undefined)
		throw invalidParameter(
			"kinds",
			`must be some of ${changeKinds.join(", ")}, separated by commas`,
			unknown,
		);
	const wanted = [...new Set(asked ?? changeKinds)];
	const seen = await visibleOf(request, wanted);
	const hidden = asked
		? wanted.filter((kind) => !seen.includes(kind))
		: seen.length === 0
			? wanted
			: [];
	if (hidden.length > 0) throw lacking(request, hidden);
	return seen;
}

/** Those of the kinds that the caller may list and watch in the account. */
async function visibleOf(
	{ client, account }: ApiRequest,
	kinds: readonly string[],
): Promise<string[]> {
	const asked = kinds.flatMap((resource) =>
		["list", "watch"].map((verb) => ({ verb, resource })),
	);
	const held = await heldRights(client, account, asked);
	return kinds.filter(
		(kind) => held.filter(({ resource }) => resource === kind).length === 2,
	);
}

function lacking({ account }: ApiRequest, kinds: string[]): RequestError {
	return new RequestError(
		"Forbidden",
		`This needs the right to list and watch ${kinds.join(", ")} in account "${account}". Ask an administrator to bind a role that has it, such as tidemill-viewer.`,
	);
}

/** Ends the stream when the caller may not see it any more. The watch may run with another one's token. */
function reviewOf(
	request: ApiRequest,
	kinds: readonly string[],
	stream: EventStream,
): () => Promise<void> {
	let failures = 0;
	let refusals = 0;
	let isAsking = false;
	const review = async () => {
		if (isAsking || stream.signal.aborted) return;
		isAsking = true;
		try {
			const seen = await visibleOf(request, kinds);
			failures = 0;
			const hidden = kinds.filter((kind) => !seen.includes(kind));
			refusals = hidden.length === 0 ? 0 : refusals + 1;
			if (refusals === 1) setTimeout(review, reviewAgainMs);
			if (refusals > 1)
				stream.end("Forbidden", lacking(request, hidden).message);
		} catch (error) {
			const { code, status, message } = requestErrorOf(error);
			if (status < 500 || ++failures >= 2) stream.end(code, message);
		} finally {
			isAsking = false;
		}
	};
	return review;
}
