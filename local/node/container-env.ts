import type { Pod } from "../../kube/kinds.ts";
import { ConfigError } from "./config-error.ts";
import { podField } from "./pod-field.ts";
import type { Container, EnvVar } from "./pod-spec.ts";
import type { Sources } from "./sources.ts";

/**
 * The environment that a container asks for: `envFrom` in order, then `env` in order, in which a value may use what
 * stands before it. A reference that is optional and missing leaves its variable out; any other is a {@link ConfigError}.
 */
export async function containerEnv(
	container: Pick<Container, "env" | "envFrom">,
	pod: Pod,
	sources: Sources,
): Promise<Record<string, string>> {
	const env: Record<string, string> = {};
	for (const { prefix = "", secretRef, configMapRef } of container.envFrom ??
		[]) {
		const kind = secretRef ? "Secret" : "ConfigMap";
		const ref = secretRef ?? configMapRef;
		const values = await sources.values(kind, ref?.name ?? "");
		if (!values && !ref?.optional) throw missingObject(kind, ref?.name);
		for (const [key, value] of Object.entries(values ?? {}))
			env[prefix + key] = value.toString();
	}
	for (const { name, value, valueFrom } of container.env ?? []) {
		const resolved = valueFrom
			? await referredValue(valueFrom, pod, sources)
			: expandVariables(value ?? "", env);
		if (resolved !== undefined) env[name] = resolved;
	}
	// Said here: the system's own message would quote the value, which may be secret.
	for (const [name, value] of Object.entries(env))
		if (value.includes("\0"))
			throw new ConfigError(`variable ${name} has a NUL character`);
	return env;
}

/**
 * `$(NAME)` becomes the variable's value and stays as it is when there is none; `$$` is a dollar sign
 * (k8s.io/kubernetes third_party/forked/golang/expansion).
 */
export function expandVariables(
	text: string,
	env: Record<string, string>,
): string {
	return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name?: string) =>
		name === undefined ? "$" : Object.hasOwn(env, name) ? env[name]! : match,
	);
}

async function referredValue(
	{ secretKeyRef, configMapKeyRef, fieldRef }: NonNullable<EnvVar["valueFrom"]>,
	pod: Pod,
	sources: Sources,
): Promise<string | undefined> {
	if (fieldRef) return podField(pod, fieldRef.fieldPath) ?? "";
	const kind = secretKeyRef ? "Secret" : "ConfigMap";
	const ref = secretKeyRef ?? configMapKeyRef;
	if (!ref) return undefined;
	const values = await sources.values(kind, ref.name ?? "");
	const value = values?.[ref.key];
	if (value !== undefined) return value.toString();
	if (ref.optional) return undefined;
	throw values
		? new ConfigError(
				`couldn't find key ${ref.key} in ${kind} ${pod.metadata.namespace}/${ref.name}`,
			)
		: missingObject(kind, ref.name);
}

/** In kubelet's words, which people search for. */
export function missingObject(
	kind: "Secret" | "ConfigMap",
	name: string | undefined,
): ConfigError {
	return new ConfigError(`${kind.toLowerCase()} "${name}" not found`);
}
