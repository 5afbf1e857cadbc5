import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "../../../test/console/browser.ts";
import {
	applySourceAndDestination,
	webhookURL,
} from "../../../test/console/shop.ts";
import {
	openLocalMode,
	startLocalMode,
} from "../../../test/support/servers/local-mode.ts";
import type { Bench, Measurement, Say } from "../measure/measurement.ts";
import { partsOf } from "../measure/rounds.ts";
import { firstView } from "./first-view.ts";
import { longTail } from "./long-tail.ts";
import { manyEvents } from "./many-events.ts";
import { manyRuns } from "./many-runs.ts";
import { manyTabs } from "./many-tabs.ts";

const measures: Record<
	"view" | "tail" | "tabs" | "runs" | "events",
	(visitor: ConsoleSession, say: Say) => Promise<Measurement[]>
> = {
	view: firstView,
	tail: longTail,
	tabs: manyTabs,
	runs: manyRuns,
	events: manyEvents,
};

/** On a whole local Tidemill, with Debian's Chromium, which shares the cores with it. */
export const bench: Bench = {
	about:
		"the console in Chromium: its first view, a tab that follows events, 200 tabs, 10,000 Runs and a million events",
	run: async (say) => {
		if (noBrowser) throw new Error(noBrowser);
		const project = join(import.meta.dirname, "../../..");
		execFileSync(process.execPath, ["tools/console/build.ts"], {
			cwd: project,
			stdio: ["ignore", "inherit", "inherit"],
		});
		const { home, stop } = await startLocalMode();
		try {
			const visitor = await openConsole(
				"shop",
				["tidemill-editor", "tidemill-admin"],
				await openLocalMode("shop", home),
			);
			try {
				await applySourceAndDestination(visitor);
				say(`a Source at ${await webhookURL(visitor)}`);
				const all: Measurement[] = [];
				for (const part of partsOf(measures))
					all.push(...(await measures[part](visitor, say)));
				return all;
			} finally {
				await visitor.close();
			}
		} finally {
			await stop();
		}
	},
};
