import { afterAll, beforeAll, test } from "vitest";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { operations } from "./kills/kill-operations.ts";
import type { When } from "./kills/kill-scene.ts";

/* SIGKILL ends a process at a step of an operation. Another one goes on, and each event is once where it belongs. */

type Kill = [step: string, when: When, nth?: number];

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

async function survives(operation: string, kills: Kill[]): Promise<void> {
	const killable = await operations[operation]!.open(servers);
	for (const [step, when, nth = 1] of kills)
		await killable.kill(step, when, nth);
	await killable.finish();
}

/** One kill of each operation. */
export function oneKillEach(): void {
	test.each(
		Object.entries(operations).flatMap(([name, { usual }]) =>
			usual ? [[name, ...usual] as const] : [],
		),
	)("%s is whole and once, killed when it %s (%s)", (name, ...kill) =>
		survives(name, [kill]),
	);
}

/** Each kill alone, and kills at moments that nobody chose. */
export function eachKill(): void {
	test.each(
		Object.entries(operations).flatMap(([name, { steps, whens }]) =>
			Object.entries(steps).flatMap(([step, times]) =>
				whens.flatMap((when) =>
					Array.from(
						{ length: times },
						(_, at) => [name, when, step, at + 1] as const,
					),
				),
			),
		),
	)("%s is whole and once, killed %s it %s (%i)", (name, when, step, nth) =>
		survives(name, [[step, when, nth]]),
	);

	test.each(Object.keys(operations))(
		"%s is whole and once, killed at four moments that nobody chose",
		async (name) => {
			const { killSometime, finish } = await operations[name]!.open(servers);
			for (let life = 0; life < 4; life++) await killSometime();
			await finish();
		},
	);
}
