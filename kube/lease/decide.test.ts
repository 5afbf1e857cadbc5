import { expect, test } from "vitest";
import type { Lease } from "../kinds.ts";
import { decideLease, sight } from "./decide.ts";

function lease(holderIdentity: string | undefined, version = "1"): Lease {
	return {
		metadata: { name: "l", uid: "u", resourceVersion: version },
		spec: {
			...(holderIdentity !== undefined && { holderIdentity }),
			leaseDurationSeconds: 15,
			// Long ago by our clock: the holder's clock is wrong, or ours.
			renewTime: "2001-01-01T00:00:00.000000Z",
		},
	};
}

test.each([
	["no lease is made", undefined, "create"],
	["our own is renewed", lease("me"), "renew"],
	["one that was given back is taken", lease(""), "take"],
	["one without a holder is taken", lease(undefined), "take"],
	["one that another has is waited for", lease("other"), "wait"],
])("%s", (_, found, action) => {
	expect(decideLease(sight(undefined, found, 0), "me", 0).action).toBe(action);
});

test("a lease is expired only when we saw it unchanged for its duration, whatever time stands in it", () => {
	const first = sight(undefined, lease("other"), 1_000);
	const again = sight(first, lease("other"), 16_000);
	expect(decideLease(again, "me", 16_000).action).toBe("wait");
	expect(decideLease(again, "me", 16_001).action).toBe("take");
});

test("a renewal that we see starts the duration anew", () => {
	const first = sight(undefined, lease("other", "1"), 0);
	const renewed = sight(first, lease("other", "2"), 14_000);
	expect(decideLease(renewed, "me", 20_000).action).toBe("wait");
	expect(decideLease(renewed, "me", 29_001).action).toBe("take");
});
