import { expect, test } from "vitest";
import { type Destination, destinationKind } from "../crds/generated/types.ts";
import { managedByApi } from "../crds/labels.ts";
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
	const use = { "tidemill.dev/use": "true" };
	const secret = {
		metadata: {
			...{ name: "lake-key-1", namespace: "shop" },
			labels: { ...use, ...labels },
		},
	};
	const context = {
		client,
		informers: {
			secrets: { get: () => secret },
			sources: { list: () => [] },
			destinations: { list: () => known },
		},
	} as unknown as Parameters<typeof readApiSecret>[0];
	const state = await readApiSecret(context, {
		namespace: "shop",
		name: "lake-key-1",
	});
	return state?.referrers;
}

test("a Destination that refers to a Secret is its plain owner, even one that memory lacks", async () => {
	const [known, stored] = [[destination()], [destination()]];
	expect(await read(managedByApi, { known, stored: [] })).toEqual([lake]);
	expect(await read(managedByApi, { known: [], stored })).toEqual([lake]);
	expect(await read(managedByApi, { known: [], stored: [] })).toEqual([]);
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
