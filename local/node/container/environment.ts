/** The variables of a container, in order. A value may use the variables before it. */
export function containerEnv(
	variables: readonly { name: string; value?: string }[] = [],
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const { name, value = "" } of variables)
		env[name] = expandVariables(value, env);
	return env;
}

/**
 * `$(NAME)` becomes the variable's value, or stays when there is no such variable; `$$` is a dollar sign
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
