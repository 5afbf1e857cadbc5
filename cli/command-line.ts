import { type ParseArgsConfig, parseArgs } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The command line is invalid. The message says how to correct it. */
export class UsageError extends Error {
	override name = "UsageError";
}

/** Options that every command has, named as kubectl's are. */
export const clusterOptions = {
	namespace: { type: "string", short: "n" },
	context: { type: "string" },
	kubeconfig: { type: "string" },
} as const satisfies Options;

/** Splits arguments into options and exactly the positional arguments in `names`. Throws {@link UsageError}. */
export function readArguments<T extends Options>(
	args: string[],
	names: string[],
	options: T,
) {
	const parsed = parse(args, options);
	const { length } = parsed.positionals;
	if (length < names.length)
		throw new UsageError(`${names[length]} is missing`);
	if (length > names.length)
		throw new UsageError(
			`unexpected argument "${parsed.positionals[names.length]}"`,
		);
	return { values: parsed.values, positionals: parsed.positionals };
}

function parse<T extends Options>(args: string[], options: T) {
	try {
		return parseArgs({
			args,
			allowPositionals: true,
			options: { ...clusterOptions, ...options },
		});
	} catch (error) {
		throw new UsageError((error as Error).message);
	}
}
