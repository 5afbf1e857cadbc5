import { isDeepStrictEqual } from "node:util";
import type { BigQueryTable } from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";

/**
 * Permissions of predefined roles, as far as the double's requests need them
 * (cloud.google.com/bigquery/docs/access-control#bigquery.jobUser and the roles beside it). Whoever may create jobs may
 * list, read and cancel their own (cloud.google.com/bigquery/docs/managing-jobs#required_roles).
 */
const permissions = {
	"bigquery.jobUser": ["jobs.create"],
	"bigquery.user": ["jobs.create", "datasets.create"],
	"bigquery.dataEditor": [
		"datasets.get",
		"tables.create",
		"tables.delete",
		"tables.get",
		"tables.getData",
		"tables.getIamPolicy",
		"tables.list",
		"tables.update",
		"tables.updateData",
	],
} as const;

/** What dataOwner has beside dataEditor's. Who creates a dataset has it there (cloud.google.com/bigquery/docs/access-control-basic-roles). */
const ofOwners = [
	"datasets.delete",
	"rowAccessPolicies.list",
	"tables.setCategory",
];

/** What the double's account may do. */
export class Permissions {
	/** On the project. */
	projectRole: "bigquery.jobUser" | "bigquery.user" = "bigquery.user";
	/** Datasets that the account owns. On others it has dataEditor. */
	readonly owned = new Set<string>();
	/** Permissions that it lacks in spite of its roles. */
	readonly denied = new Set<string>();

	/** Of a request: the permission's name without its prefix `bigquery.`. */
	has(permission: string, dataset?: string): boolean {
		const granted: readonly string[] = [
			...permissions[this.projectRole],
			...(dataset === undefined ? [] : permissions["bigquery.dataEditor"]),
			...(this.owned.has(dataset ?? "") ? ofOwners : []),
		];
		return granted.includes(permission) && !this.denied.has(permission);
	}
}

/**
 * The permissions that a request needs: the pages of its method in cloud.google.com/bigquery/docs/reference/rest, "IAM
 * Permissions" in cloud.google.com/bigquery/docs/access-control.
 * @param path below the project's.
 */
export function permissionsFor(
	method: string,
	[collection, dataset, inner, name = "", data]: string[],
	body: Partial<BigQueryTable> | undefined,
	found: BigQueryTable | undefined,
): { needed: string[]; dataset?: string | undefined } {
	if (collection === "jobs" || (collection === "queries" && dataset))
		return { needed: ["jobs.create"] };
	if (inner === undefined) {
		const verb = { POST: "create", DELETE: "delete" }[method] ?? "get";
		return { needed: [`datasets.${verb}`], dataset };
	}
	// tables.testIamPermissions needs none: it answers with those that there are.
	if (name.endsWith(":testIamPermissions")) return { needed: [], dataset };
	if (name.endsWith(":getIamPolicy"))
		return { needed: ["tables.getIamPolicy"], dataset };
	if (data !== undefined)
		return {
			needed: [
				data === "rowAccessPolicies"
					? "rowAccessPolicies.list"
					: "tables.getData",
			],
			dataset,
		};
	if (name === "" && method === "GET")
		return { needed: ["tables.list"], dataset };
	// Of a partition, too (cloud.google.com/bigquery/docs/managing-partitioned-tables#delete_a_partition).
	const verb = { POST: "create", PATCH: "update", DELETE: "delete" }[method];
	// cloud.google.com/bigquery/docs/column-level-security#permissions
	const setsTags = body?.schema?.fields?.some(
		({ name, policyTags }) =>
			policyTags &&
			!isDeepStrictEqual(
				policyTags,
				found?.schema?.fields?.find((field) => field.name === name)?.policyTags,
			),
	);
	return {
		needed: [
			`tables.${verb ?? "get"}`,
			...(setsTags ? ["tables.setCategory"] : []),
			// cloud.google.com/bigquery/docs/views#required_permissions
			...(body?.view ? ["tables.getData"] : []),
		],
		dataset,
	};
}
