import {
	cp,
	readdir,
	readFile,
	rm,
	symlink,
	writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { project } from "../support/servers/role-server.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/** A promise taken out of the code on purpose. */
export interface Edit {
	/** What the code does then. */
	name: string;
	/** From the repository's root. */
	file: string;
	/** Stands in the file exactly once. */
	find: string;
	replace: string;
}

/** A break that a test sees. */
export interface Control extends Edit {
	seenBy: {
		/** From the repository's root. It is in `make test`, unless `race` says why only `make test-all` shows the break. */
		file: string;
		/** Words that the names of its tests have that turn red. The others needn't run. */
		test?: string;
		race?: string;
	};
}

/** Not code, or large: the copy has links to the packages, and builds the rest anew. */
const left = [".git", "node_modules", ".tidemill", "dist"];

/** Copies the code with the edit into a folder that the caller removes. Throws when the edit no longer fits. */
export async function codeWith(edit: Edit): Promise<string> {
	const text = await edited(edit);
	const directory = await temporaryDirectory("control");
	for (const entry of await readdir(project))
		await cp(join(project, entry), join(directory, entry), {
			recursive: true,
			filter: (path) => !left.includes(basename(path)),
		});
	await symlink(join(project, "node_modules"), join(directory, "node_modules"));
	await writeFile(join(directory, edit.file), text);
	return directory;
}

export async function removeCode(directory: string): Promise<void> {
	await rm(directory, { recursive: true, maxRetries: 10 });
}

/** The file's text after the edit. */
export async function edited({
	name,
	file,
	find,
	replace,
}: Edit): Promise<string> {
	const parts = (await readFile(join(project, file), "utf8")).split(find);
	if (parts.length !== 2)
		throw new Error(
			`control "${name}": ${file} has ${parts.length - 1} times what is to be replaced. Make the control fit the code again.`,
		);
	return parts.join(replace);
}
