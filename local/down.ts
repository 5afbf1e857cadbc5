import { shellWord } from "../packages/escapes/shell.ts";
import {
	ChildRecords,
	hasEnded,
	stopOrphans,
} from "./machine/child-records.ts";
import { LocalError, runCommand } from "./machine/errors.ts";
import { locateHome } from "./machine/home.ts";
import { isRunning } from "./machine/identity.ts";
import { readOwner } from "./machine/lock.ts";

/** Longer than any orderly stop. */
const stopTimeoutMs = 120_000;

/** `make down`: stops what `make up` started in this TIDEMILL_HOME, even when the supervisor was killed. */
async function down(): Promise<number> {
	const home = locateHome();
	const supervisor = await readOwner(home.lock);
	const runs = supervisor !== undefined && isRunning(supervisor);
	if (runs) {
		console.log(`Stopping Tidemill in ${shellWord(home.directory)}.`);
		process.kill(supervisor.pid, "SIGTERM");
		if (!(await hasEnded(supervisor, stopTimeoutMs)))
			throw new LocalError(
				`Process ${supervisor.pid} has not stopped within ${stopTimeoutMs / 1000} s. End it with \`kill -9 ${supervisor.pid}\` and run \`make down\` again.`,
			);
	}
	const records = new ChildRecords(home.children);
	const orphans = records.running();
	if (orphans.length > 0) {
		console.log(
			`Stopping leftover processes: ${orphans.map(({ name }) => name).join(", ")}.`,
		);
		await stopOrphans(orphans);
		records.clear();
	}
	console.log(
		runs || orphans.length > 0
			? `Stopped. The data stays in ${shellWord(home.directory)}.`
			: `No Tidemill is running in ${shellWord(home.directory)}.`,
	);
	return 0;
}

await runCommand(down);
