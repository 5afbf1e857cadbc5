import { expect, test } from "vitest";
import { sourceOf } from "../../test/support/examples/resource-examples.ts";
import { readSource } from "./state.ts";

test("a new Source costs no request before its Secret is created", async () => {
	const nothing = () => undefined;
	const secrets = { get: nothing, settled: nothing };
	const state = await readSource(
		{
			client: {},
			informers: { secrets },
			routes: { keyOwner: nothing },
			ledgers: { isDeleted: nothing },
			outbox: { deliveriesOf: () => [] },
			shardBacklogs: { isRoomIn: () => true },
		} as unknown as Parameters<typeof readSource>[0],
		sourceOf("orders", {}),
		{ now: 0, outcome: undefined, refusal: undefined, statusWrittenMs: 0 },
	);
	expect(state.keys).toBe("absent");
});
