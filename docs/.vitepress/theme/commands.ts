/** The commands of a block of type `console`: its lines that begin with a prompt, `$ `, without it. */
export function commandsOf(block: string): string[] {
	return [...block.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command!);
}
