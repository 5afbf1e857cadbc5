import {
	hasReason,
	KubeApiError,
	type WriteOptions,
} from "../../packages/kube/client/client.ts";
import { writeOptions } from "../http/endpoint.ts";
import { type ErrorDetail, invalidFields } from "../http/errors.ts";
import { isUnknownFields, refusedFields } from "../http/refused-fields.ts";

/** What one write came to. */
interface Attempt<T> {
	written?: T;
	wrong: ErrorDetail[];
	/** The apiserver has looked at nothing but the fields' names. */
	hasUnknown?: boolean;
}

/**
 * Writes what the apiserver validates. Throws a 400 with all wrong fields that it names: a write with unknown ones is asked
 * again without them, as a dry run, since the apiserver looks no further. Nothing is stored if there are `errors`.
 * @param errors What is wrong beside what the apiserver finds.
 * @param beside Paths of fields that the request may have beside the CRD's.
 */
export async function writeValidated<T>(
	noun: string,
	{ errors, beside }: { errors: readonly ErrorDetail[]; beside?: string[] },
	dryRun: boolean,
	write: (options: WriteOptions) => Promise<T>,
): Promise<T> {
	const attempt = async (
		options: WriteOptions,
		known: readonly ErrorDetail[],
	): Promise<Attempt<T>> => {
		try {
			const written = await write({ ...writeOptions, ...options });
			return { written, wrong: [] };
		} catch (error) {
			if (known.length > 0 && hasReason(error, "AlreadyExists"))
				return { wrong: [] };
			const wrong =
				error instanceof KubeApiError ? refusedFields(error, beside) : [];
			if (wrong.length === 0) throw error;
			return { wrong, hasUnknown: isUnknownFields(error as KubeApiError) };
		}
	};
	const first = await attempt(
		{ dryRun: dryRun || errors.length > 0, strict: true },
		errors,
	);
	const found = first.hasUnknown
		? [...first.wrong, ...(await attempt({ dryRun: true }, first.wrong)).wrong]
		: first.wrong;
	const known = new Set(errors.map(({ path }) => path));
	const details = [...errors, ...found.filter(({ path }) => !known.has(path))];
	if (details.length > 0) throw invalidFields(noun, details);
	return first.written!;
}
