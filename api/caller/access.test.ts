import { expect, test } from "vitest";
import { hasRight, requireRight } from "./account.ts";

const bodies = { verb: "get", resource: "sources", subresource: "bodies" };

function apiserver(allowed: boolean) {
	const asked: unknown[] = [];
	const client = {
		raw: async (
			_method: string,
			_path: string,
			options: { body?: unknown },
		) => {
			asked.push(options.body);
			return { status: { allowed } };
		},
	} as never;
	return { client, asked };
}

test("the apiserver is asked about the subresource of the one resource in the account", async () => {
	const { client, asked } = apiserver(true);
	expect(await hasRight(client, "shop", { ...bodies, name: "orders" })).toBe(
		true,
	);
	expect(asked).toMatchObject([
		{
			kind: "SelfSubjectAccessReview",
			spec: {
				resourceAttributes: {
					namespace: "shop",
					group: "tidemill.dev",
					verb: "get",
					resource: "sources",
					subresource: "bodies",
					name: "orders",
				},
			},
		},
	]);
});

test("who lacks the right is told which one", async () => {
	const { client } = apiserver(false);
	await expect(
		requireRight({ client, account: "shop" }, bodies),
	).rejects.toMatchObject({
		code: "Forbidden",
		message:
			'This needs the right to get sources/bodies.tidemill.dev in account "shop".',
	});
});
