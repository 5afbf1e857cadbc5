import { expect, test } from "vitest";
import type { ObjectMeta, OwnerReference } from "../packages/kube/resource.ts";
import { decide } from "./api-secret.ts";

const createdMs = Date.parse("2026-03-01T12:00:00Z");
const owner: OwnerReference = {
	apiVersion: "tidemill.dev/v1alpha1",
	kind: "Source",
	name: "orders",
	uid: "1",
};
const other = { ...owner, name: "returns", uid: "2" };

function stateWith(
	metadata: Partial<ObjectMeta> = {},
	referrers: OwnerReference[] = [],
) {
	const creationTimestamp = "2026-03-01T12:00:00Z";
	return {
		secret: { metadata: { name: "s", creationTimestamp, ...metadata } },
		referrers,
	};
}

test.each([
	["none yet", undefined, [owner]],
	["an earlier one", [other], [owner]],
	["one of two", [owner], [owner, other]],
	["a controller", [{ ...owner, controller: true }], [owner]],
])("whatever refers to a Secret owns it, which had %s", (_, had, referrers) => {
	const ownerReferences = had && { ownerReferences: had };
	expect(
		decide(stateWith({ ...ownerReferences }, referrers), createdMs),
	).toEqual([{ type: "setOwners", owners: referrers }]);
});

test("a Secret with the right owners is left alone", () => {
	const state = stateWith({ ownerReferences: [owner] }, [owner]);
	expect(decide(state, createdMs + 86_400_000)).toEqual([]);
});

test("a Secret that was rotated out is removed at once", () => {
	const state = stateWith({ ownerReferences: [owner] });
	expect(decide(state, createdMs)).toEqual([{ type: "remove" }]);
});

test("a Secret whose resource was never written is removed after five minutes", () => {
	const at = (afterMs: number) => decide(stateWith(), createdMs + afterMs);
	expect(at(1_000)).toEqual([{ type: "requeueAfter", afterMs: 299_000 }]);
	expect(at(299_999)).toEqual([{ type: "requeueAfter", afterMs: 1 }]);
	expect(at(300_000)).toEqual([{ type: "remove" }]);
	expect(at(-3_600_000)).toEqual([{ type: "requeueAfter", afterMs: 300_000 }]);
});

test("a Secret that is being deleted is left alone", () => {
	const deletionTimestamp = "2026-03-01T12:00:00Z";
	expect(
		decide(stateWith({ deletionTimestamp }, [owner]), createdMs + 300_000),
	).toEqual([]);
});

test("a Secret that owns what the command line's tokens need is removed when the last of them has expired", () => {
	const state = { ...stateWith(), tokenExpiresMs: createdMs + 900_000 };
	expect(decide(state, createdMs + 899_999)).toEqual([
		{ type: "requeueAfter", afterMs: 1 },
	]);
	expect(decide(state, createdMs + 900_000)).toEqual([{ type: "remove" }]);
});
