import { join } from "node:path";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import { outputOf } from "../program.ts";

const root = join(import.meta.dirname, "../../..");

/** The folder of a project that has installed the TypeScript client from its package, and nothing else. */
export async function projectWithClient(): Promise<string> {
	await outputOf("make", ["-C", root, "clients"]);
	const project = await temporaryDirectory("typescript-client");
	const [packed] = JSON.parse(
		await outputOf("npm", [
			...["pack", join(root, "clients/typescript"), "--json"],
			...["--pack-destination", project],
		]),
	);
	await outputOf("npm", [
		...["install", "--offline", "--no-audit", "--prefix", project],
		join(project, packed.filename),
	]);
	return project;
}

/** What the quick start of test/local-mode/typescript-client sees when all is well. */
export const quickStartSeen = {
	hasURL: true,
	isOneRun: true,
	status: "Succeeded",
	rows: 1,
	listed: [true],
	missing: "NotFound",
	invalid: ["type"],
	isFailure: false,
};
