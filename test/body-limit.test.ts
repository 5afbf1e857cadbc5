import { expect, test } from "vitest";
import { readResourceSchemas } from "../crds/resource-schema.ts";
import {
	bodyTooLarge,
	largestBodyBytes,
} from "../ingest/receive/request/refusal.ts";

test("a body over the limit is told the limit, and to raise it where it can be raised", () => {
	const { schema } = readResourceSchemas().find(
		({ kind }) => kind === "Source",
	)!;
	const { maximum } =
		schema.properties!.spec!.properties!.webhook!.properties!.maxBodyBytes!;
	expect(maximum).toBe(largestBodyBytes);
	expect(bodyTooLarge(1_048_576).message).toBe(
		"The body is larger than the 1,048,576 bytes that this source accepts. Send a smaller one, or raise spec.webhook.maxBodyBytes, to 4194304 at most.",
	);
	expect(bodyTooLarge(largestBodyBytes).message).toBe(
		"The body is larger than the 4,194,304 bytes that this source accepts. Send a smaller one: no source accepts more.",
	);
});
