import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The version of this Tidemill: of the package.json beside the code, or above it. */
export function ownVersion(from: string = import.meta.dirname): string {
	const file = join(from, "package.json");
	if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).version;
	return ownVersion(dirname(from));
}
