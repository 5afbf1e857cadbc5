/** A program that does the quick start with a client: what reaches the API stands in TIDEMILL_API_URL and TIDEMILL_API_TOKEN. */
export interface QuickStart {
	command: string[];
	env?: Record<string, string>;
}

/** Makes a client of an OpenAPI document in a folder, and compiles it with its quick start. Throws what a generator or compiler said. */
export type MakeClient = (
	document: string,
	folder: string,
) => Promise<QuickStart>;
