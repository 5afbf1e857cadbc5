import { join } from "node:path";
import type { Destination } from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type {
	WarehouseAccess,
	WarehouseVolume,
} from "../../packages/warehouses/definition/definition.ts";
import { knownTypes, warehouseOf } from "../../packages/warehouses/registry.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { secretValue } from "../reconcile/secret-ref.ts";

export interface DestinationProblem {
	reason: Reason<"Destination">;
	message: string;
}

/** By the operator's setting that allows them, without a trailing slash. */
export type AllowedEndpoints = Readonly<Record<string, string[]>>;

/**
 * Why a check of a Destination makes no sense.
 * @param credentials The Secrets that the spec names, with or without the label, as far as they exist.
 */
export function warehouseProblem(
	{ metadata, spec }: Destination,
	credentials: readonly Secret[],
	allowed: AllowedEndpoints,
): DestinationProblem | undefined {
	const warehouse = warehouseOf(spec);
	if (!warehouse)
		return {
			reason: "UnsupportedType",
			message: `spec.type is ${spec.type}, but this version of the operator knows only ${knownTypes()}. Upgrade Tidemill, or change spec.type.`,
		};
	const { definition, own } = warehouse;
	const { member, endpoints } = definition;
	for (const [field, url] of Object.entries(endpoints?.of(own) ?? {}))
		if (url && !allowed[endpoints!.setting]?.includes(url.replace(/\/+$/, "")))
			return {
				reason: "EndpointNotAllowed",
				message: `spec.${member}.${field} ${url} is not allowed. Remove it to use ${endpoints!.otherwise}, or add it to the operator's setting ${endpoints!.setting}.`,
			};
	for (const use of definition.secrets?.(own) ?? []) {
		const { name, key } = use;
		const found = secretValue(secretNamed(name, credentials), {
			namespace: metadata.namespace!,
			name,
			key,
			field: `spec.${member}.${use.field}`,
		});
		if ("fault" in found) return found.fault;
		const problem = use.problemOf(found.value.toString());
		if (problem)
			return {
				reason: "CredentialsInvalid",
				message: `Key "${key}" of Secret "${name}" ${problem}`,
			};
	}
	return undefined;
}

/**
 * How a Job reaches a Destination; undefined if its volume or its credentials are missing, or its type is unknown.
 * @param localWarehouse Local mode's directory, with a folder for each namespace.
 * @param credentials The Secrets that the spec names.
 */
export function accessTo(
	{ metadata, spec }: Destination,
	localWarehouse: string | undefined,
	credentials: readonly Secret[],
): WarehouseAccess | undefined {
	const warehouse = warehouseOf(spec);
	if (!warehouse) return undefined;
	const { definition, own } = warehouse;
	const secretFiles = (definition.secrets?.(own) ?? []).map(
		({ name, key, file, env }) => ({
			file,
			env,
			content: secretNamed(name, credentials)?.data?.[key],
		}),
	);
	if (!secretFiles.every(hasContent)) return undefined;
	let volume: WarehouseVolume | undefined;
	if (definition.volume) {
		const { claimName } = definition.volume(own);
		if (claimName) volume = { volumeClaimName: claimName };
		else if (localWarehouse === undefined) return undefined;
		else volume = { hostPath: join(localWarehouse, metadata.namespace!) };
	}
	const { serviceAccountName } = spec;
	return {
		input: { type: spec.type, ...definition.input(own) },
		...(volume && { volume }),
		...(secretFiles.length > 0 && { secretFiles }),
		...(serviceAccountName && { serviceAccountName }),
	};
}

function hasContent<T extends { content: string | undefined }>(
	file: T,
): file is T & { content: string } {
	return file.content !== undefined;
}

/** @param secrets Of one namespace. */
export function secretNamed(
	wanted: string,
	secrets: readonly Secret[],
): Secret | undefined {
	return secrets.find(({ metadata }) => metadata.name === wanted);
}
