import type { NatsConnection } from "@nats-io/transport-node";
import {
	type ArchiveNotice,
	noticeIntervalMs,
	type ShareAnswer,
	type ShareRequest,
} from "../../../packages/contracts/archive.ts";
import { shareSubject } from "../../../packages/contracts/nats.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import {
	type RequestErrorCode,
	RequestFailure,
	requestErrors,
} from "../request/errors.ts";
import { type Share, shareOf } from "../shards/shares.ts";

/** Archive may pause for a few seconds while it writes. */
const silenceMs = 8 * noticeIntervalMs;

/**
 * Has another shard's archive flush what the shard holds of a source. Returns its share; undefined if it never had an event.
 * Throws {@link RequestFailure} as that archive does, and ShardNotReady if none answers.
 */
export async function askShare(
	connection: NatsConnection,
	shard: number,
	source: SourceName,
): Promise<Share | undefined> {
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
			shareSubject(shard),
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
