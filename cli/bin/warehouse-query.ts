import type { Destination } from "../../crds/generated/types.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { SecretUse } from "../../packages/warehouses/definition/definition.ts";
import {
	QueryFailed,
	type SecretReader,
	type SqlFormat,
} from "../../packages/warehouses/definition/sql.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";

/**
 * Queries a Destination's warehouse from this machine, with the credentials of the Secrets that it names, which the person must be
 * allowed to read.
 */
export async function queryWarehouse(
	cluster: Cluster,
	{ spec }: Pick<Destination, "spec">,
	sql: string,
	format: SqlFormat,
): Promise<void> {
	const { definition, own } = warehouseOf(spec)!;
	const secret = await secretsOf(cluster, definition.secrets?.(own) ?? []);
	const input = { ...definition.input(own), type: spec.type, isLocal: true };
	const { printQuery } = await import("../../ingest/load/warehouse.ts");
	try {
		await printQuery(input, sql, format, secret);
	} catch (error) {
		if (error instanceof QueryFailed) throw new CommandError(error.message);
		throw error;
	}
}

async function secretsOf(
	{ client, namespace }: Cluster,
	uses: SecretUse[],
): Promise<SecretReader> {
	const contents = new Map<string, string>();
	for (const name of new Set(uses.map(({ name }) => name))) {
		const secret = await client.get(kinds.secret, name, namespace);
		for (const { key, env, isOptional } of uses.filter(
			(use) => use.name === name,
		)) {
			const content = secret?.data?.[key];
			if (content !== undefined)
				contents.set(env, Buffer.from(content, "base64").toString());
			else if (!isOptional)
				throw new CommandError(
					secret
						? `Secret "${name}" in namespace ${namespace} has no key "${key}".`
						: `there is no Secret "${name}" in namespace ${namespace}, which the destination names.`,
				);
		}
	}
	return async (env) => contents.get(env);
}
