import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Whether that address is the REST API of the local Tidemill whose shell this is: `make up` wrote both into one file. */
export function isLocalApi(url: string): boolean {
	const home = process.env.TIDEMILL_HOME;
	if (!home) return false;
	return readExport(home, "TIDEMILL_API_URL") === url;
}

/** What `make up` has in its file for shells by now; a shell that read it an hour ago has another. */
export function readExport(home: string, name: string): string | undefined {
	try {
		const text = readFileSync(join(home, "env"), "utf8");
		return new RegExp(`^export ${name}='?([^'\\n]*)'?$`, "m").exec(text)?.[1];
	} catch {
		return undefined;
	}
}
