import type {
	Destination,
	DestinationReached,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { ObjectMeta } from "../../packages/kube/resource.ts";
import {
	type Binding,
	type BoundTo,
	bindingsOf,
	bindingText,
	isBound,
	maxBindingsText,
	ownPort,
	parseBinding,
} from "../../packages/warehouses/definition/binding.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import { secretNamed } from "../reconcile/secret-ref.ts";
import { checkHash } from "./check.ts";
import type { DestinationProblem } from "./consent.ts";

/** Where a Destination would have its credentials sent, and whether their Secret lets it. */
export interface Reach {
	/** The path of the part of the spec that is for the type. */
	field: string;
	/** The path of what names the host, below it. */
	hostField: string;
	target: Binding;
	secretName: string;
	/** What Jobs get; undefined if the credentials may not go there. */
	bound: BoundTo | undefined;
	/** Nothing binds it, and it goes on: it was verified before Secrets said where they may go. */
	isUnbound: boolean;
	/** Whether the Secret has the annotation already. */
	isAnnotated: boolean;
	/** Why the Secret's annotation can't be read. */
	fault: string | undefined;
	/** What a check that succeeds leaves in the status. */
	reached: DestinationReached;
}

/**
 * Undefined for a warehouse that no host of people's leads to, and as long as the host isn't known.
 * @param credentials The Secrets that the spec names.
 */
export function reachOf(
	destination: Destination,
	credentials: readonly Secret[],
	clusterDomain: string,
): Reach | undefined {
	const { metadata, spec } = destination;
	const warehouse = warehouseOf(spec);
	if (!warehouse?.definition.connection) return undefined;
	const { definition, own } = warehouse;
	const uses = definition.secrets?.(own) ?? [];
	const name = uses.find(
		({ field }) => field === "credentials.secretRef",
	)?.name;
	const secret = secretNamed(name ?? "", credentials);
	if (!secret) return undefined;
	const value = (key: string) => {
		const found = secret.data?.[key];
		return found && found.length <= maxBindingsText
			? Buffer.from(found, "base64").toString()
			: undefined;
	};
	const connection = definition.connection!(own, value);
	if ("incomplete" in connection) return undefined;
	const { target } = connection;
	const names = { namespace: metadata.namespace!, clusterDomain };
	const secretUIDs = [...new Set(uses.map((use) => use.name))].map(
		(used) => secretNamed(used, credentials)?.metadata.uid ?? "",
	);

	const before = lastReached(destination, credentials, { target, secretUIDs });
	const last = parseBinding(before?.address ?? "");
	const hosts = secret.metadata.annotations?.[annotation.hosts];
	const found = bindingsOf({ hosts, value }, target.scheme, names, last);
	const bindings = Array.isArray(found)
		? found.filter((binding) => isBound(target, binding, names))
		: [];
	const isUnbound =
		bindings.length === 0 &&
		before?.unbound === true &&
		last !== undefined &&
		last.tls === target.tls &&
		last.ca === target.ca &&
		isBound(target, last, names);
	const to = isUnbound ? [last] : bindings;
	return {
		field: `spec.${definition.member}`,
		hostField: connection.field,
		target,
		secretName: secret.metadata.name,
		bound: to.length > 0 ? { ...names, to: to.map(bindingText) } : undefined,
		isUnbound,
		isAnnotated: hosts !== undefined,
		fault: Array.isArray(found) ? undefined : found,
		reached: {
			address: bindingText(target),
			secretUIDs,
			...(isUnbound && { unbound: true }),
		},
	};
}

/**
 * Where the newest check that succeeded sent these very Secrets' credentials. Earlier versions left no word of it: what they
 * verified, and nobody has changed since, may go on unbound until 0.2.0, which ends that.
 */
function lastReached(
	{ metadata, spec, status }: Destination,
	credentials: readonly Secret[],
	now: { target: Binding; secretUIDs: string[] },
): DestinationReached | undefined {
	const { reached, lastCheck } = status ?? {};
	if (reached)
		return reached.secretUIDs.join() === now.secretUIDs.join()
			? reached
			: undefined;
	if (!lastCheck || lastCheck.failures) return undefined;
	const isReady =
		findCondition(status?.conditions, "Ready")?.status === "True" &&
		status?.observedGeneration === metadata.generation;
	return isReady || lastCheck.hash === checkHash(spec, credentials)
		? {
				address: bindingText(now.target),
				secretUIDs: now.secretUIDs,
				unbound: true,
			}
		: undefined;
}

/** What the status keeps of it until a check has succeeded: a grace that has ended doesn't come back. */
export function keptReached(
	{ spec, status }: Destination,
	reach: Reach | undefined,
): DestinationReached | undefined {
	if (reach?.isUnbound) return reach.reached;
	const { reached } = status ?? {};
	if (!reached) return undefined;
	// A Secret that is missing may come back.
	if (!reach && warehouseOf(spec)?.definition.connection) return reached;
	const { unbound: _, ...kept } = reached;
	return kept;
}

/** @param asked Who wrote the address, as {@link askedBy} has it. */
export function bindingProblem(
	{ metadata }: Destination,
	reach: Reach | undefined,
	asked: string | undefined,
): DestinationProblem | undefined {
	if (!reach || reach.bound) return undefined;
	const { field, target, secretName, fault } = reach;
	const why = fault
		? `The annotation ${annotation.hosts} of Secret "${secretName}" can't be read: ${fault}`
		: `Secret "${secretName}" doesn't say that its password may go where ${field} sends it.`;
	return {
		reason: "HostNotBound",
		message: `${why} What ${field} asks for is ${bindingText(target)}${asked ?? ""}. ${bindAdvice(metadata.namespace!, reach)}`,
	};
}

/** What people read while a Destination goes on unbound. */
export function unboundWarning(
	{ metadata }: Destination,
	reach: Reach,
): string {
	return `Secret "${reach.secretName}" doesn't say that its password may go there. It still does, to that address alone, until Tidemill 0.2.0. ${bindAdvice(metadata.namespace!, reach)}`;
}

/** Nothing in the command comes from the Destination: who copies it must look up the host, and as it stands it binds nothing. */
function bindAdvice(
	namespace: string,
	{ target, secretName, isAnnotated, fault }: Reach,
): string {
	const ca = target.ca === undefined ? "" : "?ca=<SECRET>";
	const entry = `${bindingText(placeholderOf(target))}${ca}`;
	const secret = `secret ${secretName} -n ${namespace}`;
	// What the Secret says already stays. The command reads it: who may read this message may not be one who may read the Secret.
	const hosts =
		isAnnotated && !fault
			? `"$(kubectl get ${secret} -o jsonpath='{.metadata.annotations.${annotation.hosts.replaceAll(".", "\\.")}}'),${entry}"`
			: `'${entry}'`;
	return `Give the user and the password again beside the address, by the REST API or the console. Or whoever may change the Secret decides, with the server's own name in place of <HOST>${ca && " and the authorities' Secret in place of <SECRET>"}: kubectl annotate ${secret}${isAnnotated ? " --overwrite" : ""} ${annotation.hosts}=${hosts}`;
}

function placeholderOf({ scheme }: Binding): Binding {
	const tls = "verify-full";
	return { scheme, tls, host: "<HOST>", port: ownPort(scheme, tls) };
}

/**
 * Who last wrote where the credentials go, and when, as Kubernetes has it: the name that the client gave itself, which may be a lie.
 * @param managedFields The Destination's.
 */
export function askedBy(
	managedFields: ObjectMeta["managedFields"],
	{ field, hostField }: Pick<Reach, "field" | "hostField">,
): string | undefined {
	const path = field.split(".");
	const owners = (fields: string[]) =>
		(managedFields ?? []).filter(({ fieldsV1 }) => has(fieldsV1, fields));
	const byHost = owners([...path, hostField]);
	const [last] = (byHost.length > 0 ? byHost : owners(path)).toSorted((a, b) =>
		(b.time ?? "").localeCompare(a.time ?? ""),
	);
	return (
		last &&
		`, by "${last.manager.replace(/[^\w./:@-]/g, "?")}"${last.time ? ` at ${last.time}` : ""}`
	);
}

function has(fields: unknown, [first, ...rest]: string[]): boolean {
	if (first === undefined) return true;
	const below = (fields as Record<string, unknown> | undefined)?.[`f:${first}`];
	return below !== undefined && has(below, rest);
}
