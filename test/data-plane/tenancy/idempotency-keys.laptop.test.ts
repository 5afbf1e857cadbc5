import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../support/fixtures/data-plane/archive-fixture.ts";
import { IdempotencyFixture } from "../../support/fixtures/data-plane/idempotency-fixture.ts";

test("an account that sends as many idempotency keys as it can doesn't take another account's", async () => {
	const fixture = await IdempotencyFixture.start(100);
	const receivers = [await fixture.receiver(), await fixture.receiver()];
	const [attacker, accomplice] = [
		await fixture.source({ account: "mallory" }),
		await fixture.source({ account: "mallory" }),
	];
	const victim = await fixture.source({ account: "shop" });
	const first = await victim.stored(receivers[0]!, "before");

	// On two Sources and at two receivers, until every new key is refused.
	let refusedInARow = 0;
	for (let n = 0; refusedInARow < 20; n++) {
		const source = n % 2 ? attacker : accomplice;
		const { status } = await source.send(receivers[n % 4 < 2 ? 0 : 1]!, `${n}`);
		refusedInARow = status === 503 ? refusedInARow + 1 : 0;
		if (n > 3_000) throw new Error("the keys are not bounded");
		// A receiver's count is up to a second old, and this bound is tiny.
		await delay(status === 503 ? 100 : 30);
	}

	for (const receiver of receivers)
		for (const key of ["one", "two"]) {
			const { status, json } = await victim.send(
				receiver,
				`${key} ${receiver.url}`,
			);
			expect([status, json.error?.code]).toEqual([200, undefined]);
		}
	expect(await victim.stored(receivers[1]!, "before")).toBe(first);
	await eventually(async () => {
		const { json } = await attacker.send(receivers[0]!, "one more");
		expect(json.error?.code).toBe("TooManyKeys");
	});
});
