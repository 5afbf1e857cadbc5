import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";

/** The path leads out of the warehouse directory. */
export class PathOutside extends Error {
	override name = "PathOutside";
}

/**
 * The DuckDB file of a Destination: the relative `path` inside the `warehouse` directory, with symbolic links resolved.
 * Throws {@link PathOutside}, or ENOENT if a directory of the path is missing.
 */
export async function warehouseFile(
	warehouse: string,
	path: string,
): Promise<string> {
	const file = resolve(warehouse, path);
	if (isAbsolute(path) || !file.startsWith(resolve(warehouse) + sep))
		throw new PathOutside(`"${path}" leads out of the volume`);
	const [root, directory] = await Promise.all([
		realpath(warehouse),
		realpath(dirname(file)),
	]);
	const real = await target(file, directory);
	if (!real.startsWith(root.replace(/\/?$/, sep)))
		throw new PathOutside(`"${path}" is a link that leads out of the volume`);
	return real;
}

/** The file itself may be a link, or not exist yet. */
async function target(file: string, directory: string): Promise<string> {
	try {
		return await realpath(file);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		if (await lstat(file).catch(() => undefined))
			throw new PathOutside(`${file} is a link to a file that doesn't exist`);
		return join(directory, file.slice(dirname(file).length + 1));
	}
}
