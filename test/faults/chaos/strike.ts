import { setTimeout as delay } from "node:timers/promises";
import type { Fault, Moment, Part, PointMoment } from "./plan.ts";
import type { Scene } from "./scene/scene.ts";
import { eventually } from "./scene/violation.ts";
import type { Verdict } from "./scene/wires/traps.ts";

/** What a fault does to the message that it struck at, and what is to be done afterwards. */
interface Struck {
	verdict: Verdict;
	/** Makes good what was done. */
	heal?: () => Promise<void>;
}

/** Waits for the fault's moment, has it strike, and makes it good. */
export async function strike(scene: Scene, fault: Fault): Promise<void> {
	switch (fault.kind) {
		case "kill":
			return at(scene, fault.at, (by) =>
				kill(scene, fault.part, by, fault.forMs),
			);
		case "stop":
			return at(scene, fault.at, (by) =>
				stop(scene, fault.part, by, fault.forMs),
			);
		case "lose":
			return at(scene, fault.at, async () => ({ verdict: "lose" }));
		case "refuse":
			return refuse(scene, fault);
		case "fill":
			return at(scene, fault.at, () => fill(scene, fault.part, fault.forMs));
		case "power-loss":
			return at(scene, fault.at, () => losePower(scene));
		case "forgotten":
			return at(
				scene,
				{ point: "publish", when: "after", nth: fault.nth },
				() => forget(scene),
			);
		case "clock":
			return at(scene, fault.at, () => setClocks(scene, fault));
		case "midnight":
			scene.clock.moveBeforeMidnight(fault.inMs);
			return;
		case "move":
		case "restore":
			return;
	}
}

/** Strikes at a moment, and settles when it is made good. */
async function at(
	scene: Scene,
	moment: Moment,
	act: (by: string) => Promise<Struck>,
): Promise<void> {
	let healed: Promise<void> | undefined;
	if ("acknowledged" in moment) {
		await scene.untilMore(moment.acknowledged);
		const { heal } = await act("nobody");
		await heal?.();
		return;
	}
	const { point, when, nth } = moment;
	const hasStruck = Promise.withResolvers<void>();
	hasStruck.promise.catch(() => undefined);
	const isSet = scene.traps.set(point, when, { nth }, async (by) => {
		try {
			const { verdict, heal } = await act(by);
			healed = heal?.();
			// Both are awaited below.
			healed?.catch(() => undefined);
			hasStruck.resolve();
			return verdict;
		} catch (error) {
			hasStruck.reject(error);
			return "go";
		}
	});
	await come(moment, isSet, hasStruck.promise);
	await healed;
}

/** Settles when the trap has sprung. A step that is not come to is the suite's own failure, unless the trap is taken away. */
async function come(
	{ point, when, nth }: PointMoment,
	isSet: () => boolean,
	sprung: Promise<void>,
): Promise<void> {
	await eventually("fault", () =>
		isSet() ? `no process has reached ${point} ${when} #${nth}` : undefined,
	);
	await sprung;
}

async function kill(
	scene: Scene,
	part: Part,
	by: string,
	forMs: number,
): Promise<Struck> {
	const name = part === "self" ? by : part;
	const release = await scene.locks.take(name);
	const victim = scene.parts[name]!;
	await victim.kill();
	return {
		verdict: name === by ? "lose" : "go",
		heal: async () => {
			await delay(forMs);
			await victim.start().finally(release);
		},
	};
}

/** The message is held for as long as the part sleeps: it is late by as much. */
async function stop(
	scene: Scene,
	part: Part,
	by: string,
	forMs: number,
): Promise<Struck> {
	const name = part === "self" ? by : part;
	const release = await scene.locks.take(name);
	const { pid } = scene.parts[name]!;
	process.kill(pid, "SIGSTOP");
	await delay(forMs);
	process.kill(pid, "SIGCONT");
	release();
	return { verdict: "go" };
}

async function refuse(
	{ traps }: Scene,
	{ at, status, times }: Extract<Fault, { kind: "refuse" }>,
): Promise<void> {
	const { point, when, nth } = at;
	let left = times;
	const { promise, resolve } = Promise.withResolvers<void>();
	const isSet = traps.set(point, when, { nth, times }, () => {
		if (--left === 0) resolve();
		return status;
	});
	await come(at, isSet, promise);
}

/** With its disk full, NATS takes nothing more, until it is started again. */
async function fill(
	scene: Scene,
	part: "nats" | "s3",
	forMs: number,
): Promise<Struck> {
	const { natsDisk, store, nats, locks } = scene;
	const release = await locks.take(part);
	const disk = part === "nats" ? natsDisk : store.s3Disk;
	try {
		await disk?.fill();
		await delay(forMs);
	} finally {
		await disk?.free();
	}
	if (part === "nats") {
		await nats.kill();
		await nats.start();
	}
	release();
	return { verdict: "go" };
}

async function setClocks(
	{ clock }: Scene,
	{ parts, hours, forMs }: Extract<Fault, { kind: "clock" }>,
): Promise<Struck> {
	clock.set(parts, hours * 3_600_000);
	return {
		verdict: "go",
		heal: async () => {
			await delay(forMs);
			clock.set(parts, 0);
		},
	};
}

async function losePower({ natsDisk, nats, locks }: Scene): Promise<Struck> {
	const release = await locks.take("nats");
	if (natsDisk) await natsDisk.losePower(nats);
	else await nats.kill();
	return { verdict: "lose", heal: () => nats.start().finally(release) };
}

/** The PubAck is held until its frame is archived and purged, and lost with NATS, which forgets the frame's id. */
async function forget(scene: Scene): Promise<Struck> {
	await eventually("archived", async () => {
		const streams = await scene.streams();
		const waiting = streams.find(({ state }) => state.messages > 0);
		return waiting && `${waiting.name} has frames that aren't archived`;
	});
	const release = await scene.locks.take("nats");
	await scene.nats.kill();
	return { verdict: "lose", heal: () => scene.nats.start().finally(release) };
}
