// In make test: local/binaries/pinned.test.ts
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildPrograms } from "../../local/binaries/build.ts";
import { localServers, pinnedBinaries } from "../../local/binaries/pinned.ts";

const modules = Map.groupBy(
	localServers,
	(name) => pinnedBinaries[name].module,
);

test.each([...modules])(
	"the servers of %s compile for macOS on arm64",
	async (_module, names) => {
		const directory = mkdtempSync(join(tmpdir(), "tidemill-macos-"));
		const targets = new Map(names.map((name) => [name, join(directory, name)]));
		await buildPrograms(targets, {
			env: { ...process.env, GOOS: "darwin", GOARCH: "arm64" },
			signal: new AbortController().signal,
			report: () => {},
		});
		for (const file of targets.values()) {
			const header = readFileSync(file).subarray(0, 8);
			// MH_MAGIC_64 and CPU_TYPE_ARM64 of mach-o/loader.h.
			expect(header.toString("hex")).toBe("cffaedfe0c000001");
		}
	},
	3_600_000,
);
