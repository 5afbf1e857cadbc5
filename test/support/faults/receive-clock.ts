import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	dayMs,
	startOfDate,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { sendJSON } from "../senders/http-client.ts";
import { temporaryDirectory } from "../servers/test-server.ts";

/** A clock for receive that tests set: its file, and the environment in which receive goes by it. */
export class MovedClock {
	readonly #file: string;

	static async make(): Promise<MovedClock> {
		const file = join(await temporaryDirectory("clock"), "days");
		await writeFile(file, "0");
		return new MovedClock(file);
	}

	private constructor(file: string) {
		this.#file = file;
	}

	get env(): Record<string, string> {
		const preload = new URL("moved-clock.ts", import.meta.url).href;
		return { TEST_CLOCK: this.#file, NODE_OPTIONS: `--import ${preload}` };
	}

	async moveBy(days: number): Promise<void> {
		await writeFile(this.#file, String(days));
	}

	/** Sends a JSON body that receive takes in on that date, at this time of the day. */
	async sendOn(date: UtcDate, url: string, body: string): Promise<string> {
		const today = startOfDate(utcDate(Date.now()));
		await this.moveBy((startOfDate(date) - today) / dayMs);
		const deadline = Date.now() + 120_000;
		for (;;) {
			const { status, json } = await sendJSON(url, body);
			if (status === 200) return json.event_id;
			// The route may still be on its way, or receive compared its clock with NATS's while the test moved it.
			const mayPass = status === 404 || status === 503;
			if (!mayPass || Date.now() > deadline)
				throw new Error(`receive answered ${status}: ${JSON.stringify(json)}`);
			await delay(100);
		}
	}
}
