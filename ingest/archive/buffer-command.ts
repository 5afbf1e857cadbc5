import {
	JetStreamApiError,
	jetstreamManager,
	type StreamAPI,
	type StreamInfo,
} from "@nats-io/jetstream";
import { namedStreams, shardOfStream } from "../../packages/contracts/nats.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	connectNats,
	isNotPermitted,
	isStreamNotFound,
} from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import type { AlarmCode } from "./decide/alarm.ts";
import { whyUnreadable } from "./read/frame-queue.ts";
import { readArchiveSettings } from "./settings.ts";
import { NatsProgress } from "./write/nats-progress.ts";

/** What an administrator may do to the streams in NATS. */
export type BufferVerb =
	| { verb: "list" }
	/** Of the whole stream without a sequence. */
	| { verb: "copy"; stream: string; sequence?: number | undefined }
	| { verb: "purge"; stream: string; sequence: number }
	| { verb: "give-up"; stream: string }
	| { verb: "replicas" };

/** A stream is given up only after these: of others, archive could still read it. */
const givenUpAfter: readonly (AlarmCode | undefined)[] = [
	"StreamBehind",
	"CutMismatch",
	"CutsMissing",
];

/**
 * `tidemill buffer`: fixed verbs for what the alarms of archive and more NATS servers need, so that nobody needs a NATS client and an
 * administrator's password. It runs in archive's Pod with archive's settings, so Kubernetes decides who may: whoever may exec there. What it
 * changes, the operator tells by an Event. Each verb can be repeated. Returns 1 if it refuses.
 */
export async function main(asked: BufferVerb): Promise<number> {
	const log = createLog("buffer");
	const settings = new Settings();
	const { replicas } = readArchiveSettings(settings, log).stream;
	const connection = await connectNats(settings, "archive", log);
	try {
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		const progress = await NatsProgress.open(connection, replicas);
		const buffer = new Buffers(streams, progress, replicas);
		const { isDone, lines } = await buffer.carryOut(asked);
		for (const line of lines) console[isDone ? "log" : "error"](line);
		return isDone ? 0 : 1;
	} finally {
		await connection.close();
	}
}

interface Outcome {
	isDone: boolean;
	/** For people, and of `copy` for programs. */
	lines: string[];
}

const done = (...lines: string[]): Outcome => ({ isDone: true, lines });
const refuse = (...lines: string[]): Outcome => ({ isDone: false, lines });

class Buffers {
	readonly #streams: StreamAPI;
	readonly #progress: NatsProgress;
	readonly #replicas: number;

	constructor(streams: StreamAPI, progress: NatsProgress, replicas: number) {
		this.#streams = streams;
		this.#progress = progress;
		this.#replicas = replicas;
	}

	async carryOut(asked: BufferVerb): Promise<Outcome> {
		if (asked.verb === "list") return this.#list();
		if (asked.verb === "replicas") return this.#replicate();
		const { stream } = asked;
		const shard = shardOfStream(stream);
		if (shard === undefined)
			return refuse(
				`"${stream}" is no shard's stream. "tidemill buffer list" names them.`,
			);
		const info = await this.#info(stream);
		if (!info)
			return asked.verb === "give-up"
				? done(`There is no stream ${stream} any more.`)
				: refuse(
						`There is no stream ${stream}. "tidemill buffer list" names them.`,
					);
		switch (asked.verb) {
			case "copy":
				return this.#copy(info, asked.sequence);
			case "purge":
				return this.#purge(info, asked.sequence, shard);
			case "give-up":
				return this.#giveUp(info, shard);
		}
	}

	async #list(): Promise<Outcome> {
		const lines: string[] = [];
		for (const { config, state, cluster } of await this.#own()) {
			const { name } = config;
			const copies = (cluster?.replicas ?? []).filter(({ current }) => current);
			lines.push(
				[
					name,
					`${state.messages} messages`,
					`${state.bytes} bytes`,
					`sequences ${state.first_seq} to ${state.last_seq}`,
					`${copies.length + 1} of ${config.num_replicas} copies`,
					...(await this.#faultOf(name, state)),
				].join("\t"),
			);
		}
		return done(...lines);
	}

	/** Why archive can't go on with the stream, if it is for its first frame or an alarm. */
	async #faultOf(
		name: string,
		{ messages, first_seq }: StreamInfo["state"],
	): Promise<string[]> {
		const shard = shardOfStream(name);
		if (shard === undefined) return [];
		const alarm = (await this.#progress.shardState(shard))?.stopped?.alarm;
		const first =
			messages > 0
				? await this.#streams.getMessage(name, { seq: first_seq })
				: null;
		const why = first && whyUnreadable(first.data);
		return [
			...(alarm ? [`alarm ${alarm}`] : []),
			...(why ? [`sequence ${first_seq} can't be read: ${why}`] : []),
		];
	}

	/** A line of JSON for each frame. */
	async #copy(
		{ config: { name }, state }: StreamInfo,
		only: number | undefined,
	): Promise<Outcome> {
		const { first_seq: first, last_seq: last } = state;
		for (let seq = only ?? first; seq <= (only ?? last); seq++) {
			const message = await this.#streams.getMessage(name, { seq });
			if (!message) continue;
			const { subject, time, data } = message;
			const line = JSON.stringify({
				...{ stream: name, sequence: seq, time, subject },
				headers: [...(message.header ?? [])],
				data: Buffer.from(data).toString("base64"),
			});
			// As fast as the reader takes it, so that no more than one frame is held.
			if (!process.stdout.write(`${line}\n`))
				await new Promise((resolve) => process.stdout.once("drain", resolve));
		}
		return done();
	}

	async #purge(
		{ config: { name }, state }: StreamInfo,
		sequence: number,
		shard: number,
	): Promise<Outcome> {
		const { first_seq: first, last_seq: last } = state;
		if (sequence < first)
			return done(
				`Sequence ${sequence} is no more in ${name}, which begins at ${first}.`,
			);
		const message = await this.#streams.getMessage(name, { seq: sequence });
		if (!message || sequence > last)
			return refuse(
				`${name} has no sequence ${sequence}, but ${first} to ${last}.`,
			);
		if (sequence > first)
			return refuse(
				`Sequence ${sequence} isn't the first of ${name}: ${first} to ${sequence - 1} aren't archived yet. Nothing is purged.`,
			);
		const why = whyUnreadable(message.data);
		if (why === undefined)
			return refuse(
				`This version of archive can read sequence ${sequence} of ${name}. Nothing is purged. Restart archive, which goes on with it.`,
			);
		await this.#streams.purge(name, { seq: sequence + 1 });
		return this.#intervened(
			shard,
			`Sequence ${sequence} of ${name} is purged, which archive could not read: ${why}. Restart archive: it counts this sequence as lost.`,
		);
	}

	async #giveUp(
		{ config: { name }, state }: StreamInfo,
		shard: number,
	): Promise<Outcome> {
		const alarm = (await this.#progress.shardState(shard))?.stopped?.alarm;
		if (!givenUpAfter.includes(alarm as AlarmCode))
			return refuse(
				`${name} stays: archive ${alarm ? `has stopped shard ${shard} with ${alarm}` : `hasn't stopped shard ${shard}`}, and a stream is given up only after ${givenUpAfter.join(", ")}.`,
			);
		try {
			await this.#streams.delete(name);
		} catch (error) {
			// An administrator's own NATS may have the users of an earlier version.
			if (!isNotPermitted(error)) throw error;
			return refuse(
				`NATS doesn't let archive's user delete ${name}. Give it the users of this version (files/nats.conf), or delete the stream as its administrator.`,
			);
		}
		return this.#intervened(
			shard,
			`Stream ${name} with ${state.messages} frames is given up after ${alarm}. Restart archive: it makes a new one, and counts what is lost.`,
		);
	}

	/** As many copies as archive's setting says. */
	async #replicate(): Promise<Outcome> {
		const wanted = this.#replicas;
		const changed: string[] = [];
		const refused: string[] = [];
		for (const { config } of await this.#own()) {
			const { name, num_replicas: copies } = config;
			if (copies === wanted) continue;
			try {
				await this.#streams.update(name, { num_replicas: wanted });
				changed.push(`${name}: ${wanted} copies, ${copies} before`);
			} catch (error) {
				if (!(error instanceof JetStreamApiError)) throw error;
				refused.push(
					`${name}: still ${copies}, since NATS says: ${error.message}`,
				);
			}
		}
		if (changed.length > 0)
			await this.#intervened(
				0,
				`${changed.length} streams of NATS have ${wanted} copies now.`,
			);
		if (refused.length > 0) return refuse(...changed, ...refused);
		return changed.length > 0
			? done(...changed)
			: done(`All streams have ${wanted} ${wanted === 1 ? "copy" : "copies"}.`);
	}

	async #intervened(shard: number, text: string): Promise<Outcome> {
		const time = new Date().toISOString();
		await this.#progress.setIntervention(shard, { time, text });
		return done(text);
	}

	/** Others' streams in a shared NATS are none of ours. */
	async #own(): Promise<StreamInfo[]> {
		const all = await Array.fromAsync(this.#streams.list());
		return all
			.filter(
				({ config: { name } }) =>
					namedStreams.includes(name) || shardOfStream(name) !== undefined,
			)
			.sort((a, b) => (a.config.name < b.config.name ? -1 : 1));
	}

	async #info(stream: string): Promise<StreamInfo | undefined> {
		try {
			return await this.#streams.info(stream);
		} catch (error) {
			if (!isStreamNotFound(error)) throw error;
			return undefined;
		}
	}
}
