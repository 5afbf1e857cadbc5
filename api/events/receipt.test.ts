import { expect, test } from "vitest";
import type { FoundEvent } from "../../packages/contracts/stored-event.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
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

	readonly client = {
		raw: async () => ({ status: { allowed: true } }),
		list: async (
			{ plural }: { plural: string },
			{ fieldSelector = "", continue: from = "0" }: ListOptions,
		) => {
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
