import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shiftClock } from "../../../support/faults/shifted-nats.ts";
import type { NatsMessage } from "./wires/nats-messages.ts";

const dayMs = 86_400_000;

/** Who has a clock of its own, which can be wrong. */
export const clockParts = [
	"receive",
	"archive-a",
	"archive-b",
	"nats",
	"load",
] as const;
export type ClockPart = (typeof clockParts)[number];

/**
 * The clock of a data plane: the machine's, moved by whole seconds. Receive and archive read it from files (clock-preload.ts), and
 * what NATS says of time is moved on its way. Each part's can be wrong besides, that of NATS itself, too, if it was built for that
 * (shifted-nats.ts). The store keeps the machine's.
 */
export class Clock {
	readonly #directory: string;
	#aheadMs = 0;
	readonly #wrongMs: Record<ClockPart, number> = {
		receive: 0,
		"archive-a": 0,
		"archive-b": 0,
		nats: 0,
		load: 0,
	};
	/** By how much an event's time may differ from the clock: receive's and NATS's have been wrong by as much together. */
	readonly sharedMs = new Set([0]);

	constructor(directory: string) {
		this.#directory = directory;
		this.#write();
	}

	/** Of a Node process that is to have this part's. */
	envOf(part: ClockPart): Record<string, string> {
		const preload = join(import.meta.dirname, "clock-preload.ts");
		return {
			CHAOS_CLOCK: this.fileOf(part),
			NODE_OPTIONS: `--import=${preload}`,
		};
	}

	fileOf(part: ClockPart): string {
		return join(this.#directory, `clock-${part}`);
	}

	/** Sets the clocks of these parts so far from what is right. */
	set(parts: readonly ClockPart[], wrongMs: number): void {
		for (const part of parts) this.#wrongMs[part] = wrongMs;
		if (this.#wrongMs.receive === this.#wrongMs.nats)
			this.sharedMs.add(this.#wrongMs.nats);
		this.#write();
	}

	now(): number {
		return Date.now() + this.#aheadMs;
	}

	/** Moves the clock on, to so many milliseconds before the next midnight (up to a second less). */
	moveBeforeMidnight(ms: number): void {
		const toMidnightMs = dayMs - (Date.now() % dayMs);
		this.#aheadMs = Math.max(0, Math.ceil((toMidnightMs - ms) / 1000) * 1000);
		this.#write();
	}

	/** Moves the clock on, to when the date can get no more events (packages/contracts/utc-date.ts, closedThrough). */
	closeDate(): void {
		const now = this.now();
		const closedMs = dayMs - (now % dayMs) + 6 * 60_000;
		this.#aheadMs += Math.ceil(closedMs / 1000) * 1000;
		this.#write();
	}

	/** The message with the times in it moved. */
	shifted({ verb, words, payload, bytes }: NatsMessage): Buffer {
		if (this.#aheadMs === 0 || (verb !== "MSG" && verb !== "HMSG"))
			return bytes;
		const line = [verb, ...words.map((word) => this.#ofDelivery(word))];
		const headerBytes = verb === "HMSG" ? Number(words.at(-2)) : 0;
		const body = payload.subarray(headerBytes);
		return Buffer.concat([
			Buffer.from(`${line.join(" ")}\r\n`),
			this.#ofText(payload.subarray(0, headerBytes)),
			isApiAnswer(body) ? this.#ofText(body) : body,
			Buffer.from("\r\n"),
		]);
	}

	/** `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<sequence>.<nanoseconds>.<pending>` (ADR-15). */
	#ofDelivery(word: string): string {
		if (!word.startsWith("$JS.ACK.")) return word;
		const tokens = word.split(".");
		const at = tokens.length - 2;
		tokens[at] = String(BigInt(tokens[at]!) + BigInt(this.#aheadMs) * 1000000n);
		return tokens.join(".");
	}

	/** Times in RFC 3339, to the second; what follows the seconds stays, and so the length. */
	#ofText(text: Buffer): Buffer {
		const moved = text
			.toString("latin1")
			.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=[.Z])/g, (time) =>
				new Date(Date.parse(`${time}Z`) + this.#aheadMs)
					.toISOString()
					.slice(0, time.length),
			);
		return Buffer.from(moved, "latin1");
	}

	#write(): void {
		for (const [part, wrongMs] of Object.entries(this.#wrongMs)) {
			const file = this.fileOf(part as ClockPart);
			if (part === "nats") shiftClock(file, wrongMs);
			else writeFileSync(file, String(this.#aheadMs + wrongMs));
		}
	}
}

function isApiAnswer(body: Buffer): boolean {
	return body
		.subarray(0, 60)
		.toString("latin1")
		.startsWith('{"type":"io.nats.jetstream.api.');
}
