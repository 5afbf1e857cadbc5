import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type {
	ShareAnswer,
	SharedDate,
	ShareRequest,
} from "../../../packages/contracts/archive.ts";
import {
	type ArchiveNotice,
	noticeIntervalMs,
} from "../../../packages/contracts/archive.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import {
	type OfShards,
	type SourceShards,
	shardsKey,
	unitedShards,
} from "../../../packages/contracts/route.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { isStreamNotFound } from "../../../packages/service/nats/connection.ts";
import {
	DateObjects,
	type IndexedObject,
} from "../../archive/ledger/date-objects.ts";
import type { IndexedSource } from "../../archive/ledger/ledger-index.ts";
import {
	type ObjectKind,
	objectKinds,
	perKind,
} from "../../wire/object-kinds.ts";
import {
	type RequestErrorCode,
	RequestFailure,
	requestErrors,
} from "./errors.ts";
import type { LakeShard, StreamEnd } from "./lake-shard.ts";
import { questions } from "./questions.ts";
import type { Answers, RequestTask } from "./responder.ts";

/** What one shard has of a source. */
export type ShardShare = Pick<IndexedSource, "firstEventDate" | ObjectKind>;

/** NATS takes 8 MiB, and one date is less than one. */
const maxPageBytes = 4 * 1024 ** 2;

/** The dates of a share from one on, and the date that the next page begins with. */
export function pageOf(
	share: ShardShare,
	from: UtcDate = "",
): { dates: SharedDate[]; next?: UtcDate } {
	const all = objectKinds.flatMap((kind) => [...share[kind].keys()]);
	const dates: SharedDate[] = [];
	let bytes = 0;
	for (const date of [...new Set(all)].sort()) {
		if (date < from) continue;
		if (bytes > maxPageBytes) return { dates, next: date };
		const packed = perKind((kind) => [
			...(share[kind].get(date)?.packed() ?? []),
		]);
		const shared = { date, ...packed };
		for (const kind of objectKinds)
			for (const [, text] of shared[kind]) bytes += text.length;
		dates.push(shared);
	}
	return { dates };
}

/**
 * Answers the archives of other shards, which sources of this one have moved from or to
 * (packages/contracts/archive.ts).
 */
export function answerShares(shard: LakeShard): Answers["share"] {
	return async ({ account, sourceKey, from }, task) => {
		await shard.flush(sourceKey, task);
		const source = shard.index.source(account, sourceKey);
		if (!source) return { ok: true, dates: [] };
		const { firstEventDate } = source;
		return { ok: true, firstEventDate, ...pageOf(source, from) };
	};
}

/** What {@link pageOf} made pages of. */
export function shareOf(
	firstEventDate: UtcDate,
	dates: SharedDate[],
): ShardShare {
	const byDate = (kind: ObjectKind) =>
		new Map(
			dates
				.filter((shared) => shared[kind].length > 0)
				.map((shared) => [shared.date, DateObjects.unpacked(shared[kind])]),
		);
	return { firstEventDate, ...perKind(byDate) };
}

/** By stream: where the newest cut with events of a source begins. No clock has a part in it. */
export type CutsHeld = Record<string, number>;

/** The cuts that shards have of a source. */
export function cutsOf(shares: readonly ShardShare[]): CutsHeld {
	const held: CutsHeld = {};
	for (const [, stream, first] of newestObjects(shares))
		held[stream] = Math.max(first, held[stream] ?? 0);
	return held;
}

/** The dates that have events of other cuts than these, in quarantine or not. */
export function datesSince(
	held: CutsHeld,
	shares: readonly ShardShare[],
): UtcDate[] {
	const dates = new Set<UtcDate>();
	for (const [date, stream, first] of newestObjects(shares))
		if (first > (held[stream] ?? 0)) dates.add(date);
	return [...dates];
}

function* newestObjects(
	shares: readonly ShardShare[],
): Generator<[date: UtcDate, stream: string, first: number]> {
	for (const share of shares)
		for (const kind of objectKinds)
			for (const [date, ofDate] of share[kind])
				for (const [stream, first] of ofDate.newest())
					yield [date, stream, first];
}

/** A source's objects of a date in all shards, as they are when they are asked for; undefined if there are none. */
export function objectsIn(
	shares: readonly ShardShare[],
	kind: ObjectKind,
	date: UtcDate,
): IndexedObject[] | undefined {
	const found = shares.flatMap((share) => [...(share[kind].get(date) ?? [])]);
	return found.length > 0 ? found : undefined;
}

/**
 * Waits until every event of the source that is now in a stream of any of its shards is archived. Returns what each shard has,
 * and an instant of NATS's clock, RFC 3339: every event of the source acknowledged before it is among that, and the source
 * had no other shards then; and how far that clock is from this process's ({@link StreamEnd}). Throws as
 * {@link LakeShard.flush} does.
 * @param own The shard that was asked.
 * @param flushOwn What to do in place of {@link LakeShard.flush} of that shard.
 */
export async function flushShares(
	own: LakeShard,
	source: SourceName & OfShards,
	task: RequestTask,
	flushOwn = (end: StreamEnd) => own.flush(source.sourceKey, task, end),
): Promise<Pick<StreamEnd, "time" | "clockFault"> & { shares: ShardShare[] }> {
	const { account, sourceKey } = source;
	const { connection } = own;
	// The time comes before the set of shards: what goes to a shard that the set lacks is acknowledged later.
	const end = await own.end();
	const known = await readSourceShards(connection, sourceKey);
	const shards = unitedShards([own.number], known, source.shards ?? []);
	const shares = await Promise.all(
		shards.map(async (shard) => {
			if (shard !== own.number) return askShare(connection, shard, source);
			await flushOwn(end);
			return own.index.source(account, sourceKey);
		}),
	);
	const { time, clockFault } = end;
	return { time, clockFault, shares: shares.filter((share) => !!share) };
}

/**
 * The shards that may hold the events of a source that has moved. The stream's leader answers: a server that lags may know the set
 * of before a move, as KV's direct reads do.
 */
async function readSourceShards(
	connection: NatsConnection,
	sourceKey: string,
): Promise<readonly number[]> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const query = {
		last_by_subj: `$KV.${bucket.sourceKeys}.${shardsKey(sourceKey)}`,
	};
	try {
		const found = await streams.getMessage(`KV_${bucket.sourceKeys}`, query);
		return found?.data.length ? found.json<SourceShards>().shards : [];
	} catch (error) {
		// The operator hasn't made the bucket yet.
		if (isStreamNotFound(error)) return [];
		throw error;
	}
}

/** Archive may pause for a few seconds while it writes. */
const silenceMs = 8 * noticeIntervalMs;

/**
 * Has another shard's archive flush what the shard holds of a source. Returns its share; undefined if it never had an event.
 * Throws {@link RequestFailure} as that archive does, and ShardNotReady if none answers.
 */
async function askShare(
	connection: NatsConnection,
	shard: number,
	source: SourceName,
): Promise<ShardShare | undefined> {
	const { account, sourceKey } = source;
	const question: ShareRequest = { account, sourceKey };
	const first = await ask(connection, shard, question);
	if (first.firstEventDate === undefined) return undefined;
	const dates = [...first.dates];
	for (let from = first.next; from !== undefined; ) {
		const page = await ask(connection, shard, { ...question, from });
		dates.push(...page.dates);
		from = page.next;
	}
	return shareOf(first.firstEventDate, dates);
}

async function ask(
	connection: NatsConnection,
	shard: number,
	question: ShareRequest,
): Promise<Extract<ShareAnswer, { ok: true }>> {
	let internals = `silent for ${silenceMs / 1_000} s`;
	try {
		const answers = await connection.requestMany(
			questions.share.subject(shard),
			JSON.stringify(question),
			{ strategy: "stall", maxWait: silenceMs, stall: silenceMs },
		);
		for await (const answer of answers) {
			const said = answer.json<ShareAnswer | ArchiveNotice>();
			if ("working" in said) continue;
			if (said.ok) return said;
			throw refusal(said.error);
		}
	} catch (error) {
		if (error instanceof RequestFailure) throw error;
		internals = (error as Error).message;
	}
	throw new RequestFailure(
		"ShardNotReady",
		`Archive of shard ${shard}, which may hold events of the Source, did not answer`,
		{ internals },
	);
}

/** The message has the code's advice already. */
function refusal({ code, message }: { code: string; message: string }) {
	const known = code as RequestErrorCode;
	if (!(code in requestErrors))
		return new RequestFailure("ShardNotReady", `${message} (${code})`);
	return new RequestFailure(
		known,
		message.replace(requestErrors[known].advice, "").trim(),
	);
}
