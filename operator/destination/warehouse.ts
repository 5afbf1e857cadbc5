import { join } from "node:path";
import type { Destination } from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import { hostIn } from "../../packages/warehouses/definition/binding.ts";
import type {
	WarehouseAccess,
	WarehouseVolume,
} from "../../packages/warehouses/definition/definition.ts";
import {
	knownTypes,
	type WarehouseOf,
	warehouseOf,
} from "../../packages/warehouses/registry.ts";
import type { JobSurroundings } from "../reconcile/context.ts";
import { secretNamed, secretValue } from "../reconcile/secret-ref.ts";
import { reachOf } from "./binding.ts";
import type { DestinationProblem } from "./consent.ts";
import { inputSettings } from "./settings.ts";

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
		const secret = secretNamed(name, credentials);
		if (use.isOptional && secret && secret.data?.[key] === undefined) continue;
		const found = secretValue(secret, {
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
	return connectionProblem(warehouse, credentials, allowed[hostsSetting]);
}

/** The operator's setting with the hosts that Destinations may have: names, and `*.` before those of a domain. */
export const hostsSetting = "DESTINATION_HOSTS";

function connectionProblem(
	{ definition, own }: WarehouseOf,
	credentials: readonly Secret[],
	allowed: string[] | undefined,
): DestinationProblem | undefined {
	const uses = definition.secrets?.(own) ?? [];
	const found = definition.connection?.(own, (key) => {
		const use = uses.find((use) => use.key === key);
		const value = use && secretNamed(use.name, credentials)?.data?.[key];
		return value && Buffer.from(value, "base64").toString();
	});
	if (!found) return undefined;
	if ("incomplete" in found)
		return { reason: "ConnectionIncomplete", message: found.incomplete };
	const host = found.target.host.replace(/[.]$/, "");
	const isAllowed = (pattern: string) =>
		pattern.startsWith("*.")
			? host.endsWith(pattern.slice(1).toLowerCase())
			: host === (hostIn(pattern) ?? pattern).replace(/[.]$/, "");
	if (!allowed || allowed.some(isAllowed)) return undefined;
	return {
		reason: "HostNotAllowed",
		message: `spec.${definition.member}.${found.field} is ${host}, which the operator's setting ${hostsSetting} doesn't have. Choose one that it has, or add this one to it.`,
	};
}

/**
 * How a Job reaches a Destination; undefined if its volume or its credentials are missing, these may not go there, or its type is
 * unknown.
 * @param localWarehouse Local mode's directory, with a folder for each namespace.
 * @param credentials The Secrets that the spec names.
 */
export function accessTo(
	destination: Destination,
	{ localWarehouse, clusterDomain, clusterNetworks }: JobSurroundings,
	credentials: readonly Secret[],
): WarehouseAccess | undefined {
	const { metadata, spec } = destination;
	const warehouse = warehouseOf(spec);
	if (!warehouse) return undefined;
	const { definition, own } = warehouse;
	const secretFiles = (definition.secrets?.(own) ?? [])
		.map(({ name, key, file, env, isOptional }) => ({
			file,
			env,
			isOptional,
			content: secretNamed(name, credentials)?.data?.[key],
		}))
		.filter(({ isOptional, content }) => !isOptional || content !== undefined)
		.map(({ isOptional: _, ...file }) => file);
	if (!secretFiles.every(hasContent)) return undefined;
	let volume: WarehouseVolume | undefined;
	if (definition.volume) {
		const { claimName } = definition.volume(own);
		if (claimName) volume = { volumeClaimName: claimName };
		else if (localWarehouse === undefined) return undefined;
		else volume = { hostPath: join(localWarehouse, metadata.namespace!) };
	}
	const { serviceAccountName } = spec;
	const reach = reachOf(destination, credentials, clusterDomain);
	if (definition.connection && !reach?.bound) return undefined;
	return {
		input: {
			type: spec.type,
			...inputSettings(warehouse),
			...(reach && {
				bound: reach.bound,
				...(reach.target.ca && { ca: reach.target.ca }),
				...(localWarehouse && { isLocal: true }),
				...(clusterNetworks.length > 0 && { clusterNetworks }),
			}),
		},
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
