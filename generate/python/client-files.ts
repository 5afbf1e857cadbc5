import { openApiSchemas } from "../../api/document/openapi-schemas.ts";
import { operations } from "../../api/operations.ts";
import { pythonOperationsText } from "./operations.ts";
import { pythonTypesText } from "./types.ts";

/** The generated files of the Python client: each path in the repository and its text. */
export function pythonClientFiles(): [path: string, text: string][] {
	const folder = "clients/python/tidemill/generated";
	return [
		[`${folder}/__init__.py`, ""],
		[`${folder}/operations.py`, pythonOperationsText(operations)],
		[`${folder}/types.py`, pythonTypesText(openApiSchemas())],
	];
}
