import { expect, test } from "vitest";
import { sourceKind } from "../../crds/generated/types.ts";
import {
	AnswerTooLong,
	KubeApiError,
	type KubeClient,
	type ListOptions,
} from "../../packages/kube/client/client.ts";
import type { ObjectMeta } from "../../packages/kube/resource.ts";
import { page } from "./page.ts";

test("a page has 100 items by default, and no cursor if it is the last", async () => {
	const { client, lists } = listing();
	expect(await pageOf(client, {})).toEqual({ items: ["a", "b"], total: 2 });
	expect(lists).toMatchObject([{ namespace: "shop", limit: 100 }]);
});

test("the first page has the total where the apiserver counts what is left", async () => {
	expect((await pageOf(listing("next", undefined, 5).client, {})).total).toBe(
		7,
	);
	expect((await pageOf(listing("next").client, {})).total).toBeUndefined();
	const later = await pageOf(listing("next", undefined, 5).client, {
		cursor: "a",
	});
	expect(later.total).toBeUndefined();
});

test("a label selector that isn't one is refused by name", async () => {
	const { client } = listing(undefined, async () => {
		throw new KubeApiError(400, {
			reason: "BadRequest",
			message: "unable to parse",
		});
	});
	await expect(
		pageOf(client, {}, { labelSelector: "a b" }),
	).rejects.toMatchObject({ details: [{ path: "labelSelector" }] });
});

test("the cursor of a page leads to the next one", async () => {
	const { client, lists } = listing("next");
	const { cursor } = await pageOf(client, { limit: "2" });
	expect(cursor).toBe("next");
	await pageOf(client, { limit: "2", cursor: "next" });
	expect(lists[1]).toMatchObject({ limit: 2, continue: "next" });
});

test.each(["1", "100", "1000"])("a limit of %s is accepted", async (limit) => {
	const { client, lists } = listing();
	await pageOf(client, { limit });
	expect(lists).toMatchObject([{ limit: Number(limit) }]);
});

test.each(["0", "1001", "-1", "1.5", "1e2", "", "ten", "10000"])(
	"a limit of %j is refused",
	async (limit) => {
		const { client, lists } = listing();
		await expect(pageOf(client, { limit })).rejects.toMatchObject({
			code: "InvalidRequest",
			message: `limit must be between 1 and 1000, not ${JSON.stringify(limit)}.`,
			details: [{ path: "limit" }],
		});
		expect(lists).toEqual([]);
	},
);

test("only two pages of more than 100 are read at once", async () => {
	let [reading, most] = [0, 0];
	const { client } = listing(undefined, async () => {
		most = Math.max(most, ++reading);
		await new Promise(setImmediate);
		reading--;
	});
	const read = async (limit: string) => {
		most = 0;
		await Promise.all(
			Array.from({ length: 5 }, () => pageOf(client, { limit })),
		);
		return most;
	};
	expect(await read("101")).toBe(2);
	expect(await read("100")).toBe(5);
});

test("objects that are too large for one page come in several, none is left out, and one alone comes whole", async () => {
	const objects = Array.from({ length: 40 }, (_, n) => ({
		metadata: { name: `s-${n}` },
		text: "x".repeat(n === 30 ? 20_000_000 : 1_500_000),
	}));
	let longest = 0;
	const client = {
		list: async (
			_: unknown,
			{ limit = 0, continue: from = "0", maxLength = Infinity }: ListOptions,
		) => {
			const next = Number(from) + limit;
			const items = objects.slice(Number(from), next);
			const length = items.reduce((sum, { text }) => sum + text.length, 0);
			if (length > maxLength) throw new AnswerTooLong("/");
			if (items.length > 1) longest = Math.max(longest, length);
			return {
				items,
				metadata: next < objects.length ? { continue: String(next) } : {},
			};
		},
	} as unknown as KubeClient;
	const names: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await pageOf(client, { ...(cursor && { cursor }) });
		names.push(...found.items);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	expect(names).toEqual(objects.map(({ metadata }) => metadata.name));
	expect(longest).toBeLessThanOrEqual(16 * 1024 ** 2);
});

test("a cursor that isn't one is refused by name, without what it decodes to", async () => {
	const { client } = listing(undefined, async () => {
		throw new KubeApiError(400, {
			reason: "BadRequest",
			message: "continue key is not valid: \u00cf",
		});
	});
	await expect(pageOf(client, { cursor: "x" })).rejects.toMatchObject({
		code: "InvalidRequest",
		message: 'cursor must be the cursor of the previous page, not "x".',
		details: [{ path: "cursor" }],
	});
});

async function pageOf(
	client: KubeClient,
	query: { limit?: string; cursor?: string },
	selectors = {},
) {
	const listed = { client, kind: sourceKind, namespace: "shop", selectors };
	const { items, ...rest } = await page(
		listed,
		query,
		({ metadata }) => metadata,
	);
	return { ...rest, items: items.map((item) => (item as ObjectMeta).name) };
}

/** A client that lists two objects and records what it is asked. */
function listing(
	next?: string,
	wait = async () => {},
	remainingItemCount?: number,
) {
	const lists: ListOptions[] = [];
	const client = {
		list: async (_kind: unknown, options: ListOptions) => {
			lists.push(options);
			await wait();
			return {
				items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }],
				metadata: { ...(next && { continue: next, remainingItemCount }) },
			};
		},
	} as unknown as KubeClient;
	return { client, lists };
}
