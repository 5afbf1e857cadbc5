import { expect, test } from "vitest";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { DryRun } from "./dry-run.ts";

const plan: PlanDocument = {
	version: 1,
	account: "default",
	plan: "orders",
	eventType: { bodyPointer: "/type" },
	events: [
		{
			type: "order.placed",
			schema: {
				properties: {
					type: true,
					total: { type: "number" },
					amount: { type: "number" },
				},
			},
		},
	],
	onUnplannedEvent: "Quarantine",
	onViolation: "Annotate",
	onUnplannedProperty: "Annotate",
};

const bodies = [
	{ type: "order.placed", total: "5", amount: "5" },
	{ type: "order.placed", coupon: "x" },
	{ type: "order.lost" },
	{ type: "order.found" },
	{ type: "order.found" },
];

test.each([
	["as they came", bodies],
	["backwards", bodies.toReversed()],
])(
	"events that are read %s give the same findings in the same order",
	(_, read) => {
		const dryRun = new DryRun(plan);
		for (const body of read)
			dryRun.take({
				id: "0198c5e2-0000-7000-8000-000000000001",
				body: JSON.stringify(body),
				headers: {},
				timestampMs: 0,
				validation: undefined,
			});
		const { findings, ...counts } = dryRun.result;
		expect(findings.map(({ type, path }) => `${type} ${path}`)).toEqual([
			"order.found /type",
			"order.lost /type",
			"order.placed /amount",
			"order.placed /coupon",
			"order.placed /total",
		]);
		expect(counts).toEqual({
			events: 5,
			planned: 0,
			annotated: 2,
			quarantined: 3,
			rejected: 0,
			otherFindings: 0,
		});
	},
);
