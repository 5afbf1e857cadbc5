import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { openApiSchemas } from "../../../api/document/openapi-schemas.ts";
import { operations } from "../../../api/operations.ts";
import { pythonOperationsText } from "./operations.ts";
import { synchronousText } from "./synchronous.ts";
import { pythonTypesText } from "./types.ts";

const folder = "clients/python/tidemill";
const root = join(import.meta.dirname, "../../..");

/** The generated files of the Python client: each path in the repository and its text. */
export function pythonClientFiles(): [path: string, text: string][] {
	const awaiting = globSync(`${folder}/asynchronous/*.py`, { cwd: root });
	return [
		[`${folder}/generated/__init__.py`, ""],
		[`${folder}/generated/operations.py`, pythonOperationsText(operations)],
		[`${folder}/generated/types.py`, pythonTypesText(openApiSchemas())],
		...awaiting.toSorted().map((path): [string, string] => {
			const name = basename(path);
			const text = readFileSync(join(root, path), "utf8");
			return [
				`${folder}/synchronous/${name}`,
				text && synchronousText(text, `asynchronous/${name}`),
			];
		}),
	];
}
