import type { DestinationSpec } from "../../crds/generated/types.ts";
import { type Draft, isObject, valueAt } from "../resource/draft.ts";

/** What the form of a Destination shows of a draft; the YAML has the rest. */

export type WarehouseType = DestinationSpec["type"];

type FieldKind = "text" | "number" | "flag" | readonly string[];

/** The fields of each type, in the order in which they are shown. */
const fieldsOfTypes: Record<WarehouseType, Record<string, FieldKind>> = {
	DuckDB: { "duckDB.path": "text", "duckDB.volumeClaimName": "text" },
	Postgres: {
		"postgres.credentials.secretRef.name": "text",
		"postgres.host": "text",
		"postgres.port": "number",
		"postgres.database": "text",
		"postgres.schema": "text",
		"postgres.sslMode": ["verify-full", "verify-ca", "require", "disable"],
		"postgres.caSecretRef.name": "text",
	},
	ClickHouse: {
		"clickHouse.url": "text",
		"clickHouse.database": "text",
		"clickHouse.credentials.secretRef.name": "text",
		"clickHouse.engine": [
			"MergeTree",
			"ReplicatedMergeTree",
			"SharedMergeTree",
		],
		"clickHouse.cluster": "text",
		"clickHouse.caSecretRef.name": "text",
	},
	BigQuery: {
		"bigQuery.projectId": "text",
		"bigQuery.dataset": "text",
		"bigQuery.location": "text",
		"bigQuery.createDataset": "flag",
		"bigQuery.credentials.secretRef.name": "text",
		"bigQuery.credentials.secretRef.key": "text",
		"bigQuery.stagingBucket": "text",
	},
};

export const warehouseTypes = Object.keys(fieldsOfTypes) as WarehouseType[];

export function fieldsOf(type: WarehouseType): [string, FieldKind][] {
	return Object.entries(fieldsOfTypes[type]);
}

/** Those that show their own errors. */
export const formFields = [
	...["name", "displayName", "type"],
	...warehouseTypes.flatMap((type) => Object.keys(fieldsOfTypes[type])),
];

export function newDestination(): Draft {
	return { name: "", spec: { type: "DuckDB", duckDB: {} } };
}

export function typeOf({ spec }: Draft): WarehouseType {
	return warehouseTypes.find((type) => type === spec.type) ?? "DuckDB";
}

/** Another type, without the member of the one before. */
export function withType(draft: Draft, type: WarehouseType): Draft {
	const { type: _, ...spec } = draft.spec;
	for (const member of warehouseTypes.map(memberOf)) delete spec[member];
	return { ...draft, spec: { type, ...spec, [memberOf(type)]: {} } };
}

function memberOf(type: WarehouseType): string {
	return fieldsOf(type)[0]![0].split(".")[0]!;
}

/** Where the warehouse is, in one line. */
export function placeOf(destination: object): string {
	const text = (path: string) => {
		const value = valueAt(destination, path);
		return value === undefined || isObject(value) ? undefined : String(value);
	};
	const joined = (...parts: (string | undefined)[]) =>
		parts.filter((part) => part !== undefined).join("/");
	return (
		text("duckDB.path") ??
		(joined(text("bigQuery.projectId"), text("bigQuery.dataset")) ||
			joined(text("clickHouse.url"), text("clickHouse.database")) ||
			joined(
				text("postgres.host") ?? text("postgres.credentials.secretRef.name"),
				text("postgres.database"),
				text("postgres.schema"),
			))
	);
}
