/** The log in an object, without the spaces that fill it up to its size. Takes a step for each of them, whoever wrote them. */
export function logText(padded: string): string {
	let end = padded.length;
	while (padded.charCodeAt(end - 1) === space) end--;
	return padded.slice(0, end);
}

const space = 0x20;
