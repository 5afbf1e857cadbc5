/** The fenced blocks of one type below a page's heading of the second level, one after the other. Throws if there is none. */
export function documented(
	markdown: string,
	heading: string,
	type: string,
): string {
	const section = markdown
		.split(/^## /m)
		.find((one) => one.startsWith(`${heading}\n`));
	const blocks = (section ?? "").matchAll(
		new RegExp(`^\`\`\`${type}\\n(.*?)^\`\`\`$`, "gms"),
	);
	const text = [...blocks].map(([, block]) => block).join("");
	if (text === "") throw new Error(`"${heading}" has no block of ${type}.`);
	return text;
}
