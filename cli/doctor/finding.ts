/** One line of `tidemill doctor`. */
export interface DoctorFinding {
	check: string;
	/** `skipped`: the person may not see it, or there is nothing to see. */
	result: "ok" | "failed" | "skipped";
	message: string;
	/** What to do about a failure. */
	advice?: string;
}

export function ok(check: string, message: string): DoctorFinding {
	return { check, result: "ok", message };
}

export function skipped(check: string, message: string): DoctorFinding {
	return { check, result: "skipped", message };
}

export function failed(
	check: string,
	message: string,
	advice?: string,
): DoctorFinding {
	return { check, result: "failed", message, ...(advice && { advice }) };
}
