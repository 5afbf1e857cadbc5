// In make test: test/protocols/smallest-worlds.test.ts
import { expect, test } from "vitest";
import { searchAll } from "../cut/exhaustive-search.ts";
import { everyMoveOf, type Protocol, type Scenario } from "./model.ts";

/** The argument for all this: docs/decisions/0026-a-source-keeps-its-former-shards.md. */
const timeoutMs = 600_000;

const usual: Scenario = {
	receivers: 2,
	events: 2,
	runs: 2,
	crashes: 1,
	isFormerLeaderAwake: false,
};
const twoLeaders: Scenario = {
	...usual,
	crashes: 0,
	isFormerLeaderAwake: true,
};

test.each<[string, Scenario, number]>([
	["with an operator that dies", usual, 10_000],
	["with a former leader that wakes", twoLeaders, 10_000],
	["with three events", { ...usual, events: 3, runs: 1 }, 10_000],
])(
	"a Source that moves is whole in each Run, and its closed dates stay closed, in every way %s",
	(_, scenario, atLeast) => {
		const { fault, states } = searchAll(everyMoveOf(scenario));
		expect(fault).toBeUndefined();
		expect(states).toBeGreaterThan(atLeast);
	},
	timeoutMs,
);

test.each<[string, Partial<Protocol>, RegExp, Scenario?]>([
	[
		"the route changes before the shards are written",
		{ order: ["secret", "route", "read", "shards", "done"] },
		/acknowledged before the Run/,
	],
	[
		"the new shard replaces the former one",
		{ shardsAfter: (_, target) => [target] },
		/acknowledged before the Run/,
	],
	[
		"the shards are written without the revision that was read",
		{ namesRevision: false },
		/acknowledged before the Run/,
		twoLeaders,
	],
	[
		"only the shard of the route is asked",
		{ asked: ({ route }) => [route] },
		/acknowledged before the Run/,
	],
	[
		"the shard of the Secret is asked, which has the others' names only after it",
		{
			asked: ({ shards, secret }) =>
				shards.length > 0 ? shards : secret.slice(-1),
		},
		/acknowledged before the Run/,
	],
	[
		"a server of NATS that lags says which shards there are",
		{ readsAnyServer: true },
		/acknowledged before the Run/,
	],
	[
		"a snapshot has the time of its last flush",
		{ snapshotTime: (_, now) => now },
		/date was closed/,
	],
	[
		"the former shard is forgotten once it is drained",
		{ forgetsDrained: true },
		/acknowledged before the Run/,
	],
])(
	"the search finds the fault when %s",
	(_, mutation, expected, scenario = usual) => {
		const { fault } = searchAll(everyMoveOf({ ...scenario, mutation }));
		expect(fault?.what).toMatch(expected);
	},
	timeoutMs,
);
