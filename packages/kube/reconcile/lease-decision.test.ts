import { expect, test } from "vitest";
import type { Lease } from "../kinds.ts";
import { decideLease, sight } from "./lease-decision.ts";

function lease(holderIdentity: string | undefined, version = "1"): Lease {
	return {
		metadata: { name: "l", uid: "u", resourceVersion: version },
		spec: {
			...(holderIdentity !== undefined && { holderIdentity }),
			leaseDurationSeconds: 15,
			// Long past by our clock: one of the two clocks is wrong.
			renewTime: "2001-01-01T00:00:00.000000Z",
		},
	};
}

test.each([
	["a missing lease is created", undefined, "create"],
	["our own is renewed", lease("me"), "renew"],
	["a released lease is taken", lease(""), "take"],
	["a lease without a holder is taken", lease(undefined), "take"],
	["another's lease is waited for", lease("other"), "wait"],
])("%s", (_, found, action) => {
	expect(decideLease(sight(undefined, found, 0), "me", 0).action).toBe(action);
});

test("a lease expires only after we saw it unchanged for its duration, whatever time it holds", () => {
	const first = sight(undefined, lease("other"), 1_000);
	const again = sight(first, lease("other"), 16_000);
	expect(decideLease(again, "me", 16_000).action).toBe("wait");
	expect(decideLease(again, "me", 16_001).action).toBe("take");
});

test("a lease that was deleted and created again is a new one, even with the same version", () => {
	const first = sight(undefined, lease("other"), 0);
	const found = lease("other");
	const again = { ...found, metadata: { ...found.metadata, uid: "v" } };
	const created = sight(first, again, 14_000);
	expect(decideLease(created, "me", 20_000).action).toBe("wait");
	expect(decideLease(created, "me", 29_001).action).toBe("take");
});

test("a deleted lease is forgotten", () => {
	const first = sight(undefined, lease("other"), 0);
	expect(sight(first, undefined, 1)).toBeUndefined();
});

test("a lease without a duration has expired", () => {
	const found = lease("other");
	delete found.spec!.leaseDurationSeconds;
	expect(decideLease(sight(undefined, found, 0), "me", 1).action).toBe("take");
});

test("a renewal that we see restarts the duration", () => {
	const first = sight(undefined, lease("other", "1"), 0);
	const renewed = sight(first, lease("other", "2"), 14_000);
	expect(decideLease(renewed, "me", 20_000).action).toBe("wait");
	expect(decideLease(renewed, "me", 29_001).action).toBe("take");
});
