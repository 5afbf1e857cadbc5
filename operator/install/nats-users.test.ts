import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bucket } from "../../packages/contracts/nats.ts";
import { natsAccount } from "./nats-config.ts";
import { natsPermissions, natsRoles } from "./nats-users.ts";

test.each([
	"docs/reference/installation.md",
	"charts/tidemill/examples/own-nats-and-store.yaml",
])(
	"%s names each account that somebody with a NATS of their own makes",
	(page) => {
		const text = readFileSync(join(import.meta.dirname, "../..", page), "utf8");
		const words = new Set(text.match(/[a-z]+(-[a-z]+)*/g));
		for (const role of natsRoles)
			expect(words, role).toContain(natsAccount(role));
	},
);

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
