import { onTestFinished } from "vitest";
import type { ArchiveFixture } from "../fixtures/data-plane/archive-fixture.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../servers/tidemill-process.ts";

/** `tidemill archive` for the fixture's shard, as a process of its own; killed when the test ends. */
export async function startArchiveProcess(
	archive: ArchiveFixture,
	env: Record<string, string> = {},
): Promise<
	TidemillProcess & Record<"readyz" | "metrics", () => Promise<string>>
> {
	const process = startTidemill(["archive"], { ...archive.env(), ...env });
	onTestFinished(() => void process.child.kill("SIGKILL"));
	const port = await new Promise<number>((resolve) => {
		process.onLine = (line) => {
			const { healthPort } = JSON.parse(line);
			if (!healthPort) return;
			// The last line of a process that is killed may end anywhere.
			process.onLine = () => undefined;
			resolve(healthPort);
		};
	});
	const get = (path: string) => async () =>
		(await fetch(`http://127.0.0.1:${port}/${path}`)).text();
	return { ...process, readyz: get("readyz"), metrics: get("metrics") };
}
