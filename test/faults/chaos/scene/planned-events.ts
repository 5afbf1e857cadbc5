import type {
	PlanDocument,
	PlanPolicy,
} from "../../../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../../../packages/tracking-plan/compile.ts";
import {
	PlanValidator,
	type ValidationOutcome,
} from "../../../../packages/tracking-plan/plan-validator.ts";
import { md5, type Sent } from "../../../support/senders/persistent-sender.ts";
import { eventually } from "./violation.ts";

/** What a plan says about one event. */
export interface Expected {
	outcome: ValidationOutcome;
	/** Whether it has violations that are to be told. */
	isDeviating: boolean;
	/** The violations as JSON, as its object is to have it. */
	violations: string;
}

/** What an event can be like, beside its own text. */
const shapes: Record<string, unknown>[] = [
	{ type: "order", id: 1 },
	{ type: "order", id: 2, state: "paid" },
	{ type: "refund" },
	{ type: "order" },
	{ type: "order", id: "1", state: "gone" },
	{ type: "order", id: 3, note: "unplanned" },
	{ type: "order", id: "1", note: "unplanned" },
	{},
];
/** The first shapes are as planned, and come more often. */
const plannedShapes = 2;
const mostTimes = 4;

/**
 * The events of a Source whose tracking plan annotates one kind of deviation, quarantines another and rejects the third.
 * Which is which, and how often each comes, is random. They are validated here as receive is to validate them.
 */
export class PlannedEvents {
	readonly document: PlanDocument;
	/** What the plan says about each body that was made, by its MD5. */
	readonly expected = new Map<string, Expected>();
	readonly #validator: PlanValidator;
	readonly #random: () => number;
	readonly #shapes: Record<string, unknown>[];

	/** @param plan the name, which no plan of the same receivers has had: they validate by an earlier version until they have the new one. */
	constructor(plan: string, random: () => number) {
		this.#random = random;
		const policies: PlanPolicy[] = ["Annotate", "Quarantine", "Reject"];
		const draw = () =>
			policies.splice(Math.floor(random() * policies.length), 1)[0]!;
		this.document = {
			version: 1,
			account: "shop",
			plan,
			eventType: { bodyPointer: "/type" },
			common: { properties: { type: {}, n: {}, turn: {}, text: {} } },
			events: [
				{
					type: "order",
					schema: {
						properties: {
							id: { type: "integer" },
							state: { enum: ["new", "paid"] },
						},
						required: ["id"],
					},
				},
			],
			onUnplannedEvent: draw(),
			onViolation: draw(),
			onUnplannedProperty: draw(),
		};
		this.#shapes = shapes.flatMap((shape, index) => {
			const times =
				index < plannedShapes
					? mostTimes
					: 1 + Math.floor(random() * mostTimes);
			return Array.from({ length: times }, () => shape);
		});
		const compiled = compilePlan(this.document);
		if ("fault" in compiled) throw new Error(compiled.fault);
		this.#validator = new PlanValidator(this.document, compiled.code);
	}

	/** The next event's body. @param own what no other event has. */
	body(own: object): string {
		const shape =
			this.#shapes[Math.floor(this.#random() * this.#shapes.length)];
		const value = { ...shape, ...own };
		const text = JSON.stringify(value);
		const { outcome, record } = this.#validator.validate(value, undefined);
		this.expected.set(md5(text), {
			outcome,
			isDeviating: record.violations !== undefined,
			violations: JSON.stringify(record),
		});
		return text;
	}

	/** Settles when events have once more been annotated, come to quarantine and been rejected. */
	async untilEachOutcome({ acknowledged, rejected }: Sent): Promise<void> {
		const before = acknowledged.size;
		const rejectedBefore = rejected.size;
		await eventually("progress", () => {
			const stored = [...acknowledged.values()]
				.slice(before)
				.map(({ digest }) => this.expected.get(digest));
			if (!stored.some((said) => said?.outcome === "Quarantine"))
				return "no event has come to quarantine";
			if (
				!stored.some((said) => said?.outcome === "Accept" && said.isDeviating)
			)
				return "no event has been annotated";
			return rejected.size > rejectedBefore
				? undefined
				: "no event has been rejected";
		});
	}
}
