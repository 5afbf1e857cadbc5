import { expect, test } from "vitest";
import { type Destination, destinationKind } from "../crds/generated/types.ts";
import { managedByApi } from "../crds/labels.ts";
import {
	AnswerTooLong,
	type KubeClient,
	type ListOptions,
} from "../packages/kube/client/client.ts";
import { storedObjects } from "../test/support/doubles/stored-objects.ts";
import { bigQueryOf } from "../test/support/examples/resource-examples.ts";
import { readApiSecret } from "./api-secret.ts";

const destination = (): Destination => {
	const { spec } = bigQueryOf("lake", {
		credentials: { secretRef: { name: "lake-key-1", key: "key" } },
	});
	return {
		metadata: { name: "lake", namespace: "shop", uid: "u" },
		spec,
	} as Destination;
};
const lake = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Destination",
	name: "lake",
	uid: "u",
};

/** What is read when memory has `known` and the apiserver `stored`. */
async function read(
	labels: Record<string, string>,
	{ known, stored }: { known: Destination[]; stored: Destination[] },
) {
	const { client } = storedObjects(
		stored.map((object) => [destinationKind, object]),
	);
	const state = await readApiSecret(contextOf(labels, known, client), key);
	return state?.referrers;
}

const key = { namespace: "shop", name: "lake-key-1" };

function contextOf(
	labels: Record<string, string>,
	known: Destination[],
	client: KubeClient,
) {
	const use = { "tidemill.dev/use": "true" };
	const secret = { metadata: { ...key, labels: { ...use, ...labels } } };
	return {
		client,
		informers: {
			secrets: { get: () => secret },
			sources: { list: () => [] },
			destinations: { list: () => known },
		},
	} as unknown as Parameters<typeof readApiSecret>[0];
}

test("a Destination that refers to a Secret is its plain owner, even one that memory lacks", async () => {
	const [known, stored] = [[destination()], [destination()]];
	expect(await read(managedByApi, { known, stored: [] })).toEqual([lake]);
	expect(await read(managedByApi, { known: [], stored })).toEqual([lake]);
	expect(await read(managedByApi, { known: [], stored: [] })).toEqual([]);
});

test("the resources of a namespace are asked for in bounded pages, however large people have made them", async () => {
	const objects = Array.from({ length: 40 }, (_, n) => ({
		...destination(),
		metadata: { name: `lake-${n}`, namespace: "shop", uid: `u-${n}` },
		text: "x".repeat(800_000),
	}));
	let longest = 0;
	const client = {
		list: async (
			{ kind }: { kind: string },
			{
				limit = 1_000,
				continue: from = "0",
				maxLength = Infinity,
			}: ListOptions,
		) => {
			if (kind !== "Destination") return { items: [], metadata: {} };
			const next = Number(from) + limit;
			const items = objects.slice(Number(from), next);
			const length = items.reduce((sum, { text }) => sum + text.length, 0);
			if (length > maxLength) throw new AnswerTooLong("/");
			longest = Math.max(longest, length);
			return {
				items,
				metadata: next < objects.length ? { continue: String(next) } : {},
			};
		},
	};
	const context = contextOf(managedByApi, [], client as unknown as KubeClient);
	const state = await readApiSecret(context, key);
	expect(state?.referrers).toHaveLength(40);
	expect(longest).toBeLessThan(3_000_000);
});

test("a Secret that a person made is never owned or removed", async () => {
	for (const labels of [
		{ "tidemill.dev/use": "true" },
		{ "app.kubernetes.io/managed-by": "tidemill" },
		{ "app.kubernetes.io/managed-by": "Helm" },
	])
		expect(
			await read(labels, { known: [destination()], stored: [] }),
		).toBeUndefined();
});
