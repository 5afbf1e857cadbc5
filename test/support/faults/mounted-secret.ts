import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";

/**
 * Writes a Secret as kubelet mounts it (AtomicWriter): the files are in a folder of their own, to which the link `..data` is moved,
 * and their names are links into that. Called again, it replaces all of them at once.
 */
export function mountSecret(
	directory: string,
	files: Record<string, string>,
): void {
	mkdirSync(directory, { recursive: true });
	const version = mkdtempSync(join(directory, "..2026_"));
	for (const [name, text] of Object.entries(files))
		writeFileSync(join(version, name), text);
	symlinkSync(version, join(directory, "..data_tmp"));
	renameSync(join(directory, "..data_tmp"), join(directory, "..data"));
	for (const name of readdirSync(directory))
		if (!name.startsWith("..") && !(name in files))
			rmSync(join(directory, name));
	const present = new Set(readdirSync(directory));
	for (const name of Object.keys(files))
		if (!present.has(name))
			symlinkSync(join("..data", name), join(directory, name));
}
