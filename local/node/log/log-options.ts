/** Which part of a log is asked for, and how (v1.PodLogOptions). */
export interface LogOptions {
	follow: boolean;
	timestamps: boolean;
	/** The log of the container's former run. */
	previous: boolean;
	/** Only records from this instant on, in milliseconds since the epoch. */
	sinceMs?: number;
	/** Only this many of the latest records. */
	tailLines?: number;
	/** The answer ends after this many bytes, even in the middle of a line. */
	limitBytes?: number;
}

/** The query is invalid. */
export class LogOptionError extends Error {
	override name = "LogOptionError";
}

/** Parses the query of kubelet's `/containerLogs`. Throws {@link LogOptionError}, which names the parameter. */
export function parseLogOptions(
	query: URLSearchParams,
	nowMs: number,
): LogOptions {
	const number = (name: string, min: number) => {
		const text = query.get(name);
		if (text === null) return undefined;
		const value = Number(text);
		if (!/^\d+$/.test(text) || value < min)
			throw new LogOptionError(
				`${name} is "${text}"; it must be a whole number of at least ${min}`,
			);
		return value;
	};
	const flag = (name: string) => ["true", "1"].includes(query.get(name) ?? "");
	const sinceSeconds = number("sinceSeconds", 1);
	const sinceTime = query.get("sinceTime");
	if (sinceSeconds !== undefined && sinceTime !== null)
		throw new LogOptionError("give sinceSeconds or sinceTime, not both");
	const sinceMs =
		sinceTime === null
			? sinceSeconds && nowMs - sinceSeconds * 1000
			: Date.parse(sinceTime);
	if (Number.isNaN(sinceMs))
		throw new LogOptionError(
			`sinceTime is "${sinceTime}"; it must be a time like 2026-01-31T00:00:00Z`,
		);
	const tailLines = number("tailLines", 0);
	const limitBytes = number("limitBytes", 1);
	return {
		follow: flag("follow"),
		timestamps: flag("timestamps"),
		previous: flag("previous"),
		...(sinceMs !== undefined && { sinceMs }),
		...(tailLines !== undefined && { tailLines }),
		...(limitBytes !== undefined && { limitBytes }),
	};
}
