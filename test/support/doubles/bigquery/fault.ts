/**
 * BigQuery's refusal of a request, or of a job (status 0). Reasons and statuses follow
 * cloud.google.com/bigquery/docs/error-messages.
 */
export class Fault extends Error {
	readonly status: number;
	readonly reason: string;
	readonly headers: Record<string, string>;

	constructor(
		status: number,
		reason: string,
		message: string,
		headers: Record<string, string> = {},
	) {
		super(message);
		this.status = status;
		this.reason = reason;
		this.headers = headers;
	}

	/** The body of an answer. */
	toBody(): object {
		const { status: code, reason, message } = this;
		return {
			error: { code, message, errors: [{ reason, message, domain: "global" }] },
		};
	}

	/** `status.errorResult` of a job. */
	toErrorResult(): { reason: string; message: string } {
		return { reason: this.reason, message: this.message };
	}
}

export function notFound(what: string): Fault {
	return new Fault(404, "notFound", `Not found: ${what}`);
}

export function invalid(message: string): Fault {
	return new Fault(400, "invalid", message);
}

export function duplicate(what: string): Fault {
	return new Fault(409, "duplicate", `Already Exists: ${what}`);
}

/** BigQuery refuses JSON with names that it doesn't know (google.rpc.BadRequest). */
export function requireKnown(
	given: object,
	known: readonly string[],
	where: string,
): void {
	for (const name of Object.keys(given))
		if (!known.includes(name))
			throw invalid(
				`Invalid JSON payload received. Unknown name "${name}" at '${where}': Cannot find field.`,
			);
}
