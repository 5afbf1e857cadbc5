import { expect, test } from "vitest";
import type { BinaryName } from "./pinned.ts";
import { buildSeconds, describeProgress, secondsLeft } from "./progress.ts";

const received = { bytes: 120e6, total: 400e6, secondsLeft: 35 };
const small: BinaryName[][] = [["nats-server"], ["etcd"]];

test("a line says what is done, and counts down by the longer of download and builds", () => {
	expect(
		describeProgress(
			{ downloads: [received], builds: small, step: "10 of 300 packages" },
			2,
		),
	).toBe(
		"downloading 120.0 MB of 400.0 MB, building nats-server (10 of 300 packages), about 41 s left",
	);
	expect(describeProgress({ downloads: [received], builds: [] }, 2)).toBe(
		"downloading 120.0 MB of 400.0 MB, about 35 s left",
	);
});

test("with more cores a build is shorter, and once it runs its own pace counts", () => {
	expect(secondsLeft({ downloads: [], builds: small }, 4)).toBe(20.5);
	const compiling = { compiled: 100, total: 300, secondsSoFar: 20 };
	expect(secondsLeft({ downloads: [], builds: small, compiling }, 2)).toBe(65);
});

test("what nobody can know isn't said", () => {
	const unknown = { bytes: 5e6, total: undefined, secondsLeft: undefined };
	expect(describeProgress({ downloads: [unknown], builds: [] }, 2)).toBe(
		"downloading 5.0 MB",
	);
	expect(buildSeconds(["helm"], 2)).toBeUndefined();
	expect(describeProgress({ downloads: [], builds: [["helm"]] }, 2)).toBe(
		"building helm",
	);
});

test("who waits says for whom", () => {
	expect(describeProgress({ downloads: [], builds: [], waitingFor: 42 })).toBe(
		"waiting for process 42 to get them",
	);
});
