import type { Manifest } from "../../../packages/contracts/manifest.ts";

/** The manifest of Run uid `u`, without days: for decisions that rest on what was asked. */
export function manifestOf(changes: Partial<Manifest> = {}): Manifest {
	return {
		version: 1,
		run: "u",
		account: "shop",
		sourceKey: "f".repeat(32),
		snapshotTime: "2026-03-10T12:00:00Z",
		closedThrough: "2026-03-09",
		expiresAt: "2026-03-11T12:00:00Z",
		asked: { extent: "Whole" },
		dates: [],
		...changes,
	};
}
