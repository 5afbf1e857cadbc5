import { expect, test } from "vitest";
import type { FoundEvent } from "../../packages/contracts/stored-event.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { KubeApiError } from "../../packages/kube/client/errors.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { listSourceEvents } from "./list.ts";
import { getReceipt } from "./receipt.ts";

const id = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";
const sourceKey = "5".repeat(32);
const event: FoundEvent = {
	eventID: id,
	time: "2026-03-01T12:00:00.000Z",
	kind: "json",
	bytes: 2,
	state: "accepted",
	sourceKey,
	stage: "Bucket",
	storedTime: "2026-03-01T12:00:01.000Z",
};
const layout = { sourceKey, table: "t", strategy: "Incremental" };

interface ListOptions {
	fieldSelector?: string;
	continue?: string;
}

/** Lists by field selector, with how many lists of Runs are open at once. */
class Cluster {
	open = 0;
	most = 0;
	/** Plural of what the caller may not list. */
	hidden: string | undefined;

	readonly client = {
		raw: async () => ({ status: { allowed: true } }),
		get: async () => (await this.#items("sources", "")).at(-1),
		list: async (
			{ plural }: { plural: string },
			{ fieldSelector = "", continue: from = "0" }: ListOptions,
		) => {
			if (plural === this.hidden)
				throw new KubeApiError(403, { reason: "Forbidden" });
			const all = await this.#items(plural, fieldSelector);
			const next = Number(from) + 1;
			return {
				// The smallest pages.
				items: all.slice(Number(from), next),
				metadata: next < all.length ? { continue: String(next) } : {},
			};
		},
	} as unknown as KubeClient;

	async #items(plural: string, fieldSelector: string): Promise<object[]> {
		if (plural === "sources")
			return [
				{ metadata: { name: "new" }, spec: {} },
				{
					metadata: { name: "made-up" },
					spec: {},
					status: { sourceKey: "6".repeat(32), shard: 9999 },
				},
				{
					metadata: { name: "shop" },
					spec: {},
					status: { sourceKey, shard: 0 },
				},
			];
		if (plural === "pipelines")
			return ["a", "b"].map((name) => ({
				metadata: { name },
				spec: { dateRange: {}, table: {} },
			}));
		this.most = Math.max(this.most, ++this.open);
		await new Promise(setImmediate);
		this.open--;
		const name = /spec\.pipelineRef\.name=(\w+),/.exec(fieldSelector)![1]!;
		return [
			{
				metadata: { name: `${name}-1` },
				spec: { pipelineRef: { name } },
				status: {
					phase: "Succeeded",
					snapshotTime: "2026-03-01T12:05:00.000Z",
					completionTime: "2026-03-01T12:05:09.000Z",
					dates: { start: "2026-03-01" },
					layout,
				},
			},
		];
	}
}

function ask(
	account: string,
	{ client }: Cluster,
	found: FoundEvent | null = event,
) {
	const askEvents = async (shard: number) => {
		if (shard === 9999) throw new RequestError("Unavailable", "Nobody listens");
		return {
			answer: { ok: true, event: found, searched: { from: "", to: "" } },
		};
	};
	const request = {
		params: { event_id: id },
		client,
		account,
		server: { archive: { askEvents } },
	} as unknown as ApiRequest;
	return getReceipt(request, undefined as never);
}

test("a receipt has each Pipeline's Run, however many pages of them there are", async () => {
	expect(await ask("shop", new Cluster())).toMatchObject({
		eventId: id,
		source: "shop",
		loads: [
			{ pipeline: "a", state: "Loaded", run: "a-1" },
			{ pipeline: "b", state: "Loaded", run: "b-1" },
		],
	});
});

test("a list has what each Pipeline did with each event, if it is asked to and the caller may see that", async () => {
	const { sourceKey: _, storedTime, stage, ...head } = event;
	const later = "2026-03-01T12:06:00.000Z";
	const list = async (query: object, cluster = new Cluster()) => {
		const events = [
			{ ...head, storedTime },
			{ ...head, state: "quarantined", storedTime },
			{ ...head, state: "released", storedTime, releasedTime: later },
		];
		const request = {
			params: { name: "shop" },
			query,
			client: cluster.client,
			account: "shop",
			server: { archive: { askEvents: async () => ({ answer: { events } }) } },
		} as unknown as ApiRequest;
		const answer = await listSourceEvents(request, undefined as never);
		return (answer as { items: { loads?: object[] }[] }).items;
	};
	const [accepted, held, released] = await list({ loads: "true" });
	expect(accepted).toMatchObject({
		loads: [
			{ pipeline: "a", state: "Loaded", table: "t", run: "a-1" },
			{ pipeline: "b", state: "Loaded", table: "t", run: "b-1" },
		],
	});
	expect(held).toMatchObject({ loads: [{ state: "Held" }, { state: "Held" }] });
	expect(released).toMatchObject({
		loads: [{ state: "Waiting" }, { state: "Waiting" }],
	});
	const blind = Object.assign(new Cluster(), { hidden: "runs" });
	for (const items of [await list({}), await list({ loads: "true" }, blind)])
		expect(items.filter((item) => "loads" in item)).toEqual([]);
});

test("however many receipts an account asks for at once, the Runs of one Pipeline are read at a time", async () => {
	const cluster = new Cluster();
	await Promise.all(Array.from({ length: 5 }, () => ask("shop", cluster)));
	expect(cluster.most).toBe(1);
});

test("a shard that isn't there hides no event of another, and may have an event that is nowhere else", async () => {
	const cluster = new Cluster();
	expect(await ask("shop", cluster)).toMatchObject({ source: "shop" });
	await expect(ask("shop", cluster, null)).rejects.toMatchObject({
		code: "Unavailable",
	});
});
