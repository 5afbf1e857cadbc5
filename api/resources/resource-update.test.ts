import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { destinations } from "./api-resource.ts";
import { updateOf } from "./resource-update.ts";

/** A change of a Destination that somebody else changes, too. */
function scene(...ports: (number | undefined)[]) {
	const written: unknown[] = [];
	const seen = ports.map((port, generation) => ({
		metadata: { name: "lake", uid: "u", generation },
		spec: {
			type: "Postgres",
			postgres: {
				...{ host: "db", database: "d", ...(port && { port }) },
				credentials: { secretRef: { name: "lake-password-1" } },
			},
		},
	}));
	const request = {
		...{ params: { name: "lake" }, query: {}, headers: {}, account: "shop" },
		settleWithinMs: 0,
		body: {
			postgres: {
				...{ host: "db", credentials: { username: "u", password: "p" } },
			},
		},
		client: {
			get: async () => (seen.length > 1 ? seen.shift() : seen[0]),
			patch: async (
				_kind: unknown,
				_name: string,
				_account: string,
				[, test]: { value: unknown }[],
				_type: string,
				{ dryRun }: { dryRun: boolean },
			) => {
				if (test!.value !== seen[0]!.metadata.generation)
					throw new KubeApiError(409, { kind: "Status", reason: "Conflict" });
				written.push(dryRun ? "dry run" : "Destination");
				return seen[0];
			},
			create: async (_: unknown, { metadata }: KubeObject) =>
				written.push(metadata.annotations),
		},
	} as unknown as ApiRequest;
	const reply = { header: () => undefined } as unknown as FastifyReply;
	return { written, answer: updateOf(destinations)(request, reply) };
}

test("the Secret of a password comes with its binding, once the write would pass", async () => {
	const { written, answer } = scene(undefined);
	await answer;
	expect(written).toEqual([
		"dry run",
		{ "tidemill.dev/hosts": "postgres+verify-full://db:5432" },
		"Destination",
	]);
});

test("an address that changes while somebody gives a password gets none", async () => {
	const { written, answer } = scene(undefined, 6432);
	await expect(answer).rejects.toMatchObject({
		details: [{ path: "postgres.port" }],
	});
	expect(written).toEqual(["dry run"]);
});
