import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { generateClient } from "../openapi-generator.ts";
import { outputOf } from "../program.ts";
import type { MakeClient } from "../quick-start.ts";

/** openapi-generator's Go. */
export const makeGoClient: MakeClient = async (document, folder) => {
	const module = ["--git-user-id", "example", "--git-repo-id", "tidemill"];
	await generateClient("go", document, folder, ...module);
	const source = join(folder, "quickstart");
	await mkdir(source);
	await cp(
		join(import.meta.dirname, "quick_start.go"),
		join(source, "main.go"),
	);
	const program = join(folder, "quick-start");
	await outputOf("go", ["build", "-o", program, "./quickstart"], {
		cwd: folder,
		// Adds to go.sum, which the generator leaves empty.
		env: { GOFLAGS: "-mod=mod", GOWORK: "off" },
	});
	return { command: [program] };
};
