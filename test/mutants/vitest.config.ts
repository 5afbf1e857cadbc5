import { defineConfig } from "vitest/config";

/** The unit tests beside the code. The searches of test/protocols/ take too long to repeat for each mutant. */
export default defineConfig({
	test: {
		include: ["{api,crds,ingest,operator,packages}/**/*.test.ts"],
		// As the project "unit" has it. A mutant that doesn't end is Stryker's to stop.
		testTimeout: 300_000,
		hookTimeout: 300_000,
	},
});
