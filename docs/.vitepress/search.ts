/** How the site's search ranks what it finds. What people do comes before what they look up, and that before the reasons. */
export const searchOptions = {
	fuzzy: (term: string) => (term.length > 4 ? 0.2 : 0),
	prefix: true,
	boost: { title: 4, text: 2, titles: 1 },
	boostDocument: (id: string) =>
		/\/decisions\//.test(id)
			? 0.2
			: /\/runbooks\/|upgrade-notes|\/attacks|\/settings/.test(id)
				? 0.3
				: /\/reference\//.test(id)
					? 0.6
					: 1,
};
