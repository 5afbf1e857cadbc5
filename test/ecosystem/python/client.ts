import { join } from "node:path";
import { pythonEnvironment } from "../../support/servers/python.ts";
import { generateClient } from "../openapi-generator.ts";
import { outputOf } from "../program.ts";
import type { MakeClient } from "../quick-start.ts";

/** As the generated requirements.txt has them. */
const packages = [
	"urllib3>=2.1.0,<3",
	"python-dateutil>=2.8.2",
	"pydantic>=2.11",
];

/** openapi-generator's Python. */
export const makePythonClient: MakeClient = async (document, folder) => {
	await generateClient("python", document, folder);
	const bin = await pythonEnvironment("openapi-python-7.26.0", packages);
	const python = join(bin, "python3");
	await outputOf(python, ["-m", "compileall", "-q", join(folder, "tidemill")]);
	const program = join(import.meta.dirname, "quick_start.py");
	return { command: [python, program], env: { PYTHONPATH: folder } };
};
