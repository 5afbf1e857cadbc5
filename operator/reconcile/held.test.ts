import { expect, test } from "vitest";
import type { Operation, TrackingPlan } from "../../crds/generated/types.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import type { Pod } from "../../packages/kube/kinds.ts";
import {
	metadataAlone,
	operationOutline,
	ownKind,
	planOutline,
	podParts,
	withTemplate,
} from "./held.ts";
import { specOf } from "./named-schemas.ts";

const metadata = {
	name: "orders",
	namespace: "shop",
	uid: "u",
	resourceVersion: "1",
	finalizers: ["example.com/other"],
	labels: { team: "x", "tidemill.dev/use": "true" },
	annotations: {
		note: "x".repeat(200_000),
		"tidemill.dev/rotate-url": "1",
		"tidemill.dev/check": "x".repeat(5_000),
	},
	managedFields: [{ manager: "kubectl" }],
};
const marks = {
	labels: { "tidemill.dev/use": "true" },
	annotations: { "tidemill.dev/rotate-url": "1" },
};

test("of labels and annotations only those are held that Tidemill reads, and none that is long", () => {
	const { managedFields: _, ...others } = metadata;
	const held = ownKind({ metadata, spec: { a: 1 } } as never);
	expect(held).toEqual({ metadata: { ...others, ...marks }, spec: { a: 1 } });
	const unmarked = { metadata: { name: "a", labels: { team: "x" } } };
	expect(ownKind(unmarked)).toEqual({ metadata: { name: "a" } });
});

test("of a Job's template that is longer than anybody needs, only its length and the Job's limits are held", () => {
	const limits = { retries: 2, activeDeadlineSeconds: 3_600 };
	const runTemplate = {
		...limits,
		nodeSelector: { pool: "x".repeat(40_000) },
		labels: { app: "payments" },
	};
	const kept = withTemplate("runTemplate");
	const of = (template: object) =>
		kept({ metadata, spec: { runTemplate: template } }).spec.runTemplate;
	const tooLong = JSON.stringify(runTemplate).length;
	expect(of(runTemplate)).toEqual({ ...limits, tooLong });
	const usual = { ...runTemplate, nodeSelector: { pool: "a" } };
	expect(of(usual)).toEqual(usual);
});

test("of what is others' too, few owners are held and nothing else but metadata", () => {
	const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "p" };
	// Kubernetes bounds none of an owner's texts.
	const huge = ["apiVersion", "kind", "name", "uid"].map((text) => ({
		...owner,
		[text]: "x".repeat(100_000),
	}));
	const ownerReferences = [
		...huge,
		...Array.from({ length: 1_000 }, () => owner),
	];
	const object = {
		metadata: { ...metadata, ownerReferences },
		data: { a: "b" },
	};
	const held = metadataAlone(object);
	expect(held.metadata.ownerReferences).toHaveLength(16);
	expect(JSON.stringify(held).length).toBeLessThan(2_000);
	expect(held).not.toHaveProperty("data");
});

test("of a Pod its status and node are held", () => {
	const pod = {
		metadata,
		spec: { nodeName: "n", containers: [{ name: "c" }] },
		status: { phase: "Running" },
	} as Pod;
	expect(podParts(pod)).toMatchObject({
		spec: { nodeName: "n" },
		status: { phase: "Running" },
	});
	expect(podParts(pod).spec).not.toHaveProperty("containers");
});

const spec = parseExact(
	`{"eventType":{"constant":"a"},"common":{"maximum":9007199254740993},
	"events":[{"type":"a","schema":{"const":1.10}},{"type":"b"},
	{"type":"c","schemaFrom":{"configMapKeyRef":{"name":"m","key":"k"}}}],"onViolation":"Reject"}`,
) as TrackingPlan["spec"];

test("a plan's schemas stand apart, and together they are the plan as it was written", () => {
	const plan = { metadata, spec } as unknown as TrackingPlan;
	const outline = planOutline(plan);
	expect(outline.hasSchemas).toBe(true);
	expect(outline.spec).not.toHaveProperty("common");
	expect(outline.spec.events?.map((event) => Object.keys(event))).toEqual([
		["type"],
		["type"],
		["type", "schemaFrom"],
	]);
	const { common, events = [] } = spec;
	const schemas = JSON.stringify([common, events.map(({ schema }) => schema)]);
	const whole = specOf({ ...outline, schemas });
	expect(JSON.stringify(whole.common)).toBe('{"maximum":9007199254740993}');
	expect(whole).toMatchObject({ events: spec.events });
	const { common: _, ...named } = spec;
	const without = { ...named, events: [{ type: "a" }] };
	expect(planOutline({ ...plan, spec: without })).not.toHaveProperty(
		"hasSchemas",
	);
});

test("of the plan that an Operation tries, no schema is held", () => {
	const operation = {
		metadata,
		spec: { type: "DryRun", plan: { inline: spec } },
	} as unknown as Operation;
	const outline = operationOutline(operation);
	expect(outline.hasSchemas).toBe(true);
	expect(JSON.stringify(outline.spec)).not.toContain("maximum");
	expect(outline.spec.plan?.inline?.events).toHaveLength(3);
});

test("of an Operation that has ended, neither what it was to do nor its result is held", () => {
	const large = "x".repeat(100_000);
	const operation = {
		metadata,
		spec: {
			type: "DryRun",
			sourceRef: { name: "shop" },
			plan: { name: "orders" },
			filter: { eventIDs: [large] },
			ttlSecondsAfterFinished: 60,
			jobTemplate: { retries: 2, nodeSelector: { pool: "a" } },
		},
		status: {
			phase: "Succeeded",
			completionTime: "2026-11-01T00:00:00Z",
			draft: { trackingPlan: large },
			inspect: { page: [large] },
		},
	} as unknown as Operation;
	const { spec: of, status } = operationOutline(operation);
	expect(of).toEqual({
		type: "DryRun",
		sourceRef: { name: "shop" },
		plan: { name: "orders" },
		ttlSecondsAfterFinished: 60,
		jobTemplate: { retries: 2 },
	});
	expect(status).toEqual({
		phase: "Succeeded",
		completionTime: "2026-11-01T00:00:00Z",
	});
	const { completionTime: _, ...working } = operation.status!;
	const held = operationOutline({ ...operation, status: working });
	expect(held.status).toEqual(working);
	expect(held.spec).toEqual(operation.spec);
});
