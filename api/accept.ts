/** The header `Accept` allows an answer of this type (RFC 9110 §12.5.1). Without the header all is allowed. */
export function accepts(accept: string | undefined, type: string): boolean {
	if (accept === undefined || accept.trim() === "") return true;
	const [family] = type.split("/");
	const wanted = accept.split(",").map(rangeOf);
	// The most specific range that fits decides.
	for (const range of [type, `${family}/*`, "*/*"]) {
		const found = wanted.find(({ name }) => name === range);
		if (found) return found.quality > 0;
	}
	return false;
}

function rangeOf(text: string): { name: string; quality: number } {
	const [name = "", ...parameters] = text.split(";");
	const quality = parameters
		.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(parameter)?.[1])
		.find((value) => value !== undefined);
	return { name: name.trim().toLowerCase(), quality: Number(quality ?? 1) };
}
