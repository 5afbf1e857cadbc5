import { expect } from "vitest";
import { eventually } from "../../../support/fixtures/data-plane/archive-fixture.ts";
import { openLake } from "../../../support/fixtures/data-plane/lake.ts";
import { loadFixture } from "../../../support/fixtures/data-plane/load-fixture.ts";
import type { Servers } from "../../../support/servers/archive-servers.ts";
import { KillScene, type Step, type When } from "./kill-scene.ts";

/* What is killed, and what must hold afterwards. */

/** A process and what it works on. */
export interface Killable {
	/** Starts it, and ends it with SIGKILL at the step. */
	kill(step: string, when: When, nth: number): Promise<void>;
	/** The same at a moment that nobody chose. */
	killSometime(): Promise<void>;
	/** Lets it end in peace. Throws unless all is whole then. */
	finish(): Promise<void>;
}

export interface Operation {
	/** How often it comes to each step, as far as that makes a difference. */
	steps: Record<string, number>;
	/** Steps are only struck when they begin. */
	whens: readonly When[];
	/** The kill that `make test` tries; none of what differs little from another row. */
	usual?: readonly [step: string, when: When];
	open(servers: Servers): Promise<Killable>;
}

/** What archive does. Each step is what it asks of others. */
export interface ArchiveOperation {
	steps: Record<string, Step | [Step, times: number]>;
	usual?: readonly [step: string, when: When];
	env?: Record<string, string>;
	/** What there is before archive starts. */
	prepare(scene: KillScene): Promise<unknown>;
	/** Before each start. */
	beforeEach?(scene: KillScene, step?: string): Promise<unknown>;
	/** Throws unless the operation is done. */
	ask(scene: KillScene): Promise<unknown>;
	/** After {@link expectWhole} with these tags. */
	tags(scene: KillScene): string[];
	check?(scene: KillScene): Promise<unknown>;
}

export function ofArchive(operation: ArchiveOperation): Operation {
	const { steps, usual, env, prepare, beforeEach, ask, tags, check } =
		operation;
	const stepOf = (name: string) => {
		const step = steps[name]!;
		return Array.isArray(step) ? step : ([step, 1] as const);
	};
	return {
		...(usual && { usual }),
		whens: ["before", "after"],
		steps: Object.fromEntries(
			Object.keys(steps).map((name) => [name, stepOf(name)[1]]),
		),
		async open(servers) {
			const scene = await KillScene.open(servers, env);
			await prepare(scene);
			return {
				async kill(name, when, nth) {
					await beforeEach?.(scene, name);
					await scene.killAt(stepOf(name)[0], when, nth, () => ask(scene));
				},
				async killSometime() {
					await beforeEach?.(scene);
					await scene.killAfter(300 + Math.random() * 700, () => ask(scene));
				},
				async finish() {
					await beforeEach?.(scene);
					scene.start();
					// A repeat changes nothing.
					for (let times = 0; times < 2; times++)
						await eventually(() => ask(scene));
					await expectWhole(scene, tags(scene));
					await check?.(scene);
				},
			};
		},
	};
}

/** Each event is once in a table and in what readers of the bucket find, and a record names nothing that isn't there. */
export async function expectWhole(
	scene: KillScene,
	tags: string[],
): Promise<void> {
	const expected = tags.toSorted();
	const objects = await scene.objects();
	for (const [key, bytes] of objects) {
		if (!/\/(releases|(quarantine-)?compactions)\/.*\.json$/.test(key))
			continue;
		const record = JSON.parse(bytes.toString());
		const folder = key
			.replace("/quarantine-compactions/", "/quarantine/")
			.replace("/compactions/", "/events/")
			.replace(".json", "/");
		const named = record.outputs
			? record.outputs.map(({ name }: { name: string }) => folder + name)
			: [record.key];
		for (const name of named) expect([...objects.keys()]).toContain(name);
	}
	if (expected.length === 0)
		return expect(scene.manifest()).rejects.toThrow("SourceDeleted");
	const { load, rows } = await loadFixture();
	// An archive that has just begun doesn't listen yet.
	const end = await load(await eventually(() => scene.manifest()));
	expect(end.exitCode, end.log).toBe(0);
	const inTable = await rows("SELECT body->>'tag' FROM orders ORDER BY 1");
	expect(inTable.flat().map(String).sort()).toEqual(expected);
	const lake = await openLake(scene.archive);
	await eventually(async () => {
		await lake.look();
		const found = (await lake.bodiesFound()).filter((body) => body !== "null");
		const inLake = found.map((body) => JSON.parse(body).tag);
		expect(inLake.sort()).toEqual(expected);
	});
}
