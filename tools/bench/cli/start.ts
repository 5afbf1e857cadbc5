import { spawnSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { writePackage } from "../../npm/package.ts";
import { type Bench, compared } from "../measure/measurement.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";

/** What a person waits for at each command, beside Node's own start. */
export const bench: Bench = {
	about: "tidemill --version from its npm package; baseline: node -e 0",
	async run(say) {
		const folder = await temporaryDirectory("bench-cli");
		try {
			await writePackage(folder);
			const program = join(folder, "bin/tidemill.js");
			const seconds = async (args: string[]) => {
				const startMs = performance.now();
				const { status } = spawnSync(process.execPath, args);
				if (status !== 0) throw new Error(`node ${args} ended with ${status}`);
				return (performance.now() - startMs) / 1000;
			};
			// The first one fills the compile cache, which a person has.
			await seconds([program, "--version"]);
			const { version, node } = await alternate(
				"start",
				{
					version: () => seconds([program, "--version"]),
					node: () => seconds(["-e", "0"]),
				},
				{ count: roundsOf(20), say, text: (one) => `${one.toFixed(3)} s` },
			);
			return [
				compared("tidemill --version", "s", version, node, { ratioAtMost: 3 }),
			];
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	},
};
