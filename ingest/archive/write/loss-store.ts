import {
	type Acceptance,
	type AcceptedLoss,
	type Loss,
	lossId,
	parseLossId,
} from "../decide/loss.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";

export type RecordedLoss = Loss & {
	what: string;
	/** When archive found it, RFC 3339. */
	found: string;
	acceptance?: Acceptance;
};

/** The losses that archive found, and their acceptances. Both are written once and never changed. */
export class LossStore {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** Records a loss that archive has found. An existing record stays. */
	async report(loss: Loss, what: string): Promise<void> {
		const found = new Date().toISOString();
		await this.#put(this.#keys.loss(loss.stream, lossId(loss)), {
			version: 1,
			...loss,
			what,
			found,
		});
	}

	/** Accepts a recorded loss. Returns the acceptance in the bucket, or undefined if there is no such loss. */
	async accept(
		stream: string,
		id: string,
		by: string,
		reason: string,
	): Promise<Acceptance | undefined> {
		const loss = parseLossId(stream, id);
		if (!loss || !(await this.#get(this.#keys.loss(stream, id))))
			return undefined;
		const time = new Date().toISOString();
		const mine: Acceptance = { version: 1, by, reason, time };
		await this.#put(this.#keys.acceptance(stream, id), mine);
		return (await this.acceptanceOf(loss)) ?? mine;
	}

	async acceptanceOf(loss: Loss): Promise<Acceptance | undefined> {
		const key = this.#keys.acceptance(loss.stream, lossId(loss));
		return (await this.#get(key)) as Acceptance | undefined;
	}

	async accepted(stream: string): Promise<AcceptedLoss[]> {
		const losses: AcceptedLoss[] = [];
		for await (const { acceptance, ...loss } of this.all(stream))
			if (acceptance) losses.push({ ...loss, acceptance });
		return losses;
	}

	/** All losses of one stream, or of all streams, in the order of their keys. */
	async *all(stream?: string): AsyncGenerator<RecordedLoss> {
		for await (const { key } of this.#store.list(this.#keys.losses(stream))) {
			const [, ofStream = "", id = ""] =
				/([^/]+)\/([^/.]+)\.json$/.exec(key) ?? [];
			const loss = parseLossId(ofStream, id);
			const recorded = loss && ((await this.#get(key)) as RecordedLoss);
			if (!recorded) continue;
			const { what, found } = recorded;
			const acceptance = await this.acceptanceOf(loss);
			yield { ...loss, what, found, ...(acceptance && { acceptance }) };
		}
	}

	async #put(key: string, content: object): Promise<void> {
		await this.#store.putNew(key, JSON.stringify(content), "application/json");
	}

	async #get(key: string): Promise<unknown> {
		const text = await this.#store.get(key);
		return text === undefined ? undefined : JSON.parse(text);
	}
}
