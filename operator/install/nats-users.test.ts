import { expect, test } from "vitest";
import { bucket } from "../../packages/contracts/nats.ts";
import { natsPermissions } from "./nats-users.ts";

test("no role reads another's answers; receive writes only senders' keys, api only its own requests", () => {
	for (const [role, { subscribe, publish }] of Object.entries(
		natsPermissions,
	)) {
		expect(subscribe.filter((subject) => subject.startsWith("_INBOX"))).toEqual(
			[`_INBOX_${role}.>`],
		);
		const written = publish.allow.filter((subject) =>
			subject.startsWith("$KV."),
		);
		if (role === "receive")
			expect(written).toEqual([`$KV.${bucket.idempotency}.>`]);
		if (role === "api") expect(written).toEqual([`$KV.${bucket.requests}.>`]);
	}
});
