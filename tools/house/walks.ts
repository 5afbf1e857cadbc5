/** A walk through the code, as CONTRIBUTING.md tells it. */
export interface Walk {
	/** Such as "From `spec.schedule` to a Job". */
	title: string;
	/** The files of its steps, in order. */
	files: WalkFile[];
}

export interface WalkFile {
	path: string;
	/** The boundary that the step names before the file: nobody imports what is beyond it. */
	boundary?: string;
}

/** @param page The text of CONTRIBUTING.md. A walk begins with a line "**From … to …**" and ends before the next or a heading. */
export function readWalks(page: string): Walk[] {
	return page
		.split(/^(?=\*\*From |## )/m)
		.filter((text) => text.startsWith("**From "))
		.map((text) => {
			const [title = ""] = text.split("\n");
			return { title: title.replaceAll("*", ""), files: filesIn(text) };
		});
}

function filesIn(text: string): WalkFile[] {
	const words = text.matchAll(
		/`([\w./-]+\.(?:ts|yaml))`|(NATS subject|Kubernetes object|worker message)/g,
	);
	const files: WalkFile[] = [];
	let boundary: string | undefined;
	for (const [, path, named] of words) {
		boundary = named ?? boundary;
		if (path === undefined) continue;
		files.push({ path, ...(boundary && { boundary }) });
		boundary = undefined;
	}
	return files;
}
