/** Headings have the same addresses here and on GitHub, where people read these pages, too. */
export function githubSlug(heading: string): string {
	return heading
		.toLowerCase()
		.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
		.replaceAll(" ", "-");
}

/** The addresses of a page's headings. Of several with one name, the later ones end with a number. */
export function headingsOf(markdown: string): string[] {
	const prose = markdown.replaceAll(/^( *)```.*\n[\s\S]*?^\1```$/gm, "");
	const seen = new Map<string, number>();
	return [...prose.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) => {
		const slug = githubSlug(
			heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"),
		);
		const before = seen.get(slug) ?? 0;
		seen.set(slug, before + 1);
		return before === 0 ? slug : `${slug}-${before}`;
	});
}
