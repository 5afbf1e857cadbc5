import { defineConfig } from "vitest/config";

/** The unit tests beside the code. The searches of test/protocols/ take too long to repeat for each mutant. */
export default defineConfig({
	test: {
		include: ["{api,crds,ingest,operator,packages}/**/*.test.ts"],
	},
});
