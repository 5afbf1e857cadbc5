import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { metricsPage } from "../../generate/metrics-page.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { chart } from "../support/chart/render.ts";

const file = join(chart, "files/alerts.yaml");

test("Prometheus accepts the alerts", async () => {
	const { promtool } = await resolveBinaries(["promtool"]);
	const { stdout } = await promisify(execFile)(promtool, [file]);
	expect(stdout).toMatch(/^SUCCESS: \d+ rules found/);
});

test("each metric of an alert exists", () => {
	const names = readFileSync(file, "utf8").matchAll(
		/\b(?:tidemill|controller_runtime|leader_election|workqueue)_\w+/g,
	);
	const page = metricsPage();
	expect(
		[...names]
			.map(([name]) => name)
			.filter((name) => !page.includes(`\`${name}\``)),
	).toEqual([]);
});

test.each([
	["TidemillFramesLost", "tidemill_archive_lost_frames) > 0"],
	["TidemillArchiveLags", "tidemill_archive_lag_seconds) > "],
	["TidemillArchiveLagUnknown", "absent(tidemill_archive_lag_seconds)"],
])("%s looks at %s", (name, expression) => {
	const [, rule] = readFileSync(file, "utf8").split(`- alert: ${name}\n`);
	expect(rule?.split("labels:")[0]).toContain(expression);
});
