import { customTokenFault } from "../../crds/custom-token.ts";
import {
	type Destination,
	destinationKind,
	type Operation,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { signingSecretFault } from "../../crds/signing-secret.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { withoutLineEnd } from "../../packages/service/secret-files.ts";
import { bindingText } from "../../packages/warehouses/definition/binding.ts";
import type { WarehouseDefinition } from "../../packages/warehouses/definition/definition.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { ListFilter } from "./page.ts";
import type { SecretField } from "./secret-fields.ts";
import type { ResourceUser } from "./usage.ts";

/** A custom resource that the API can create, change and delete. */
export interface ApiResource<T extends Resource = Resource> {
	/** The last segment of the collection's path. */
	collection: string;
	/** The word for one resource in messages. */
	noun: string;
	kind: ResourceKind<T>;
	secretFields: SecretField[];
	/** A body that creates one. The documentation's commands use its name. */
	example: object;
	/** How a list can be limited. */
	filters: Record<string, ListFilter>;
	users: ResourceUser[];
}

export interface Resource extends KubeObject {
	spec: object;
	status?: { observedGeneration?: number };
}

export const sources: ApiResource<Source> = {
	collection: "sources",
	noun: "source",
	example: {
		name: "shop",
		displayName: "The shop",
		type: "Webhook",
		webhook: { idempotency: { key: { header: "idempotency-key" } } },
	},
	kind: sourceKind,
	filters: {
		type: { field: "spec.type", values: ["Webhook"] },
		status: {
			field: "status.phase",
			values: ["Pending", "Active", "Suspended", "Error", "Deleting"],
		},
	},
	users: [
		{
			kind: pipelineKind,
			nouns: "pipelines",
			field: "spec.sourceRef.name",
		},
	],
	secretFields: [
		{
			at: ["webhook", "authorization", "customToken"],
			inline: "token",
			ref: "secretRef",
			description:
				"The token, instead of `secretRef`: at least 16 bytes. The API keeps it in a Secret and never returns it.",
			problemOf: (token) => customTokenFault(withoutLineEnd(token)),
		},
		{
			at: ["webhook", "authorization", "signature"],
			inline: "secrets",
			ref: "secretRefs",
			description:
				"The signing secrets, instead of `secretRefs`. The API keeps them in a Secret and never returns them.",
			// A patch that keeps the scheme doesn't say it.
			problemOf: (secret, { scheme }) =>
				typeof scheme === "string"
					? signingSecretFault(scheme, withoutLineEnd(secret))
					: undefined,
		},
		{
			at: ["webhook", "authorization", "signature", "custom", "publicKey"],
			inline: "key",
			ref: "secretRef",
			description:
				"The public key, instead of `secretRef`. The API keeps it in a Secret.",
		},
	],
};

export const destinations: ApiResource<Destination> = {
	collection: "destinations",
	noun: "destination",
	example: {
		name: "warehouse",
		displayName: "Warehouse",
		type: "DuckDB",
		duckDB: { path: "analytics/events.duckdb", volumeClaimName: "warehouse" },
	},
	kind: destinationKind,
	filters: {
		type: { field: "spec.type", values: [...warehouses.keys()] },
		status: {
			field: "status.phase",
			values: ["Checking", "Ready", "Error"],
		},
	},
	users: [
		{
			kind: pipelineKind,
			nouns: "pipelines",
			field: "spec.destinationRef.name",
		},
	],
	secretFields: [...warehouses.values()].flatMap(secretFieldsOf),
};

export const pipelines: ApiResource<Pipeline> = {
	collection: "pipelines",
	noun: "pipeline",
	example: {
		name: "orders",
		displayName: "Orders, every morning",
		sourceRef: { name: "shop" },
		destinationRef: { name: "warehouse" },
		schedule: {
			type: "Daily",
			updateTime: "06:30",
			timeZone: "Europe/Berlin",
		},
	},
	kind: pipelineKind,
	filters: {
		source: { field: "spec.sourceRef.name" },
		destination: { field: "spec.destinationRef.name" },
		status: {
			field: "status.phase",
			values: ["Pending", "Ready", "Running", "Suspended", "Error"],
		},
	},
	users: [],
	secretFields: [],
};

const trackingPlans: ApiResource<TrackingPlan> = {
	collection: "tracking-plans",
	noun: "tracking plan",
	example: {
		name: "shop-events",
		displayName: "Shop events",
		eventType: { bodyPointer: "/event" },
		events: [{ type: "order.paid", schema: { required: ["order"] } }],
	},
	kind: trackingPlanKind,
	filters: {},
	users: [
		{
			kind: sourceKind,
			nouns: "sources",
			field: "spec.webhook.trackingPlanRef.name",
		},
	],
	secretFields: [],
};

export const operations: ApiResource<Operation> = {
	collection: "operations",
	noun: "operation",
	example: {
		name: "for-analysts",
		displayName: "For the analysts",
		type: "Export",
		sourceRef: { name: "shop" },
	},
	kind: operationKind,
	filters: {
		source: { field: "spec.sourceRef.name" },
		type: {
			field: "spec.type",
			values: [
				"DryRun",
				"Draft",
				"Inspect",
				"Release",
				"Export",
				"Import",
				"Erase",
			],
		},
		status: {
			field: "status.phase",
			values: ["Pending", "Running", "Succeeded", "Failed", "Cancelled"],
		},
	},
	users: [],
	secretFields: [],
};

/** All of them. Runs are not among them: they are started and cancelled. */
export const apiResources: ApiResource[] = [
	sources,
	destinations,
	pipelines,
	trackingPlans,
	operations,
];

/** Those of a type of warehouse, by their paths in the whole spec. */
function secretFieldsOf(definition: WarehouseDefinition): SecretField[] {
	const { member, secretFields = [] } = definition;
	const within = (path: string) => [member, ...path.split(".")];
	return secretFields.map(({ at, address, needs = [], ...field }) => ({
		...field,
		at: [member, ...at],
		...(address && {
			address: {
				at: address.map(within),
				needs: needs.map(within),
				annotationsOf(spec) {
					const own = (spec as Record<string, object>)[member]!;
					const found = definition.connection?.(own, () => undefined);
					return found && "target" in found
						? { [annotation.hosts]: bindingText(found.target) }
						: {};
				},
			},
		}),
	}));
}
