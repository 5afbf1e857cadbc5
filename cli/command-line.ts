import { type ParseArgsConfig, parseArgs } from "node:util";
import { addDays, utcDate } from "../contracts/utc-date.ts";
import type { OperationSpec } from "../crds/generated/types.ts";

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

/** Options for the days of an Operation. */
export const dayOptions = {
	from: { type: "string" },
	to: { type: "string" },
	days: { type: "string" },
} as const satisfies Options;

export const daysUsage = "[--days <n> | --from <date> --to <date>]";

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

/** The `dates` of an Operation's spec, by {@link dayOptions}. Throws {@link UsageError}. */
export function datesOf({
	from,
	to,
	days,
}: Partial<Record<"from" | "to" | "days", string>>): Pick<
	OperationSpec,
	"dates"
> {
	if ((from === undefined) !== (to === undefined))
		throw new UsageError("--from and --to must be used together");
	if (from !== undefined && days !== undefined)
		throw new UsageError("--days can't be used with --from and --to");
	if (days !== undefined) {
		const count = /^\d{1,4}$/.test(days) ? Number(days) : 0;
		if (count === 0)
			throw new UsageError(`--days is "${days}", but must be a number from 1`);
		const today = utcDate(Date.now());
		return { dates: { start: addDays(today, 1 - count), end: today } };
	}
	return from === undefined ? {} : { dates: { start: from, end: to! } };
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
