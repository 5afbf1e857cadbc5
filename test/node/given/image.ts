/** An image's name as the chart's values have it. */
export interface ImageValues {
	registry: string;
	repository: string;
	tag: string;
}

/** Reads `registry/repository:tag`. Throws what is wrong with it. */
export function imageValues(name: string): ImageValues {
	const parts = /^([^/]+)\/(.+):([^:/]+)$/.exec(name);
	if (!parts)
		throw new Error(
			`TIDEMILL_E2E_IMAGE is "${name}". It must name a registry, a repository and a tag: registry.example.com/team/tidemill:dev.`,
		);
	const [, registry, repository, tag] = parts;
	return { registry: registry!, repository: repository!, tag: tag! };
}
