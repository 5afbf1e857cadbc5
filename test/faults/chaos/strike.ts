import { statfs } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import {
	hasGivenUpWriting,
	hasRoom,
	type NatsHealth,
} from "../../../operator/install/full-disk.ts";
import { isNoRoom } from "../../../packages/service/nats/connection.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import type { Fault, Moment, Part, PointMoment } from "./plan.ts";
import { archiveNames, newSource, type Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";
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
		case "full-jetstream":
			return at(scene, fault.at, () => fillJetStream(scene, fault.forMs));
		case "emptied-etcd":
			return at(scene, fault.at, async () => ({
				verdict: "go",
				heal: () => emptyEtcd(scene, fault.forMs),
			}));
		case "power-loss":
			return at(scene, fault.at, () => losePower(scene));
		case "lost-disk":
			return at(scene, fault.at, (by) => loseDisk(scene, fault.backlog, by));
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
		case "lost-object":
		case "lost-day":
		case "older-bucket":
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

/** With its disk full, NATS takes nothing more until it is started again, which the chart's reloader sees to. */
async function fill(
	scene: Scene,
	part: "nats" | "s3",
	forMs: number,
): Promise<Struck> {
	const { natsDisk, store, nats, locks } = scene;
	const release = await locks.take(part);
	const isNats = part === "nats";
	const disk = isNats ? natsDisk : store.s3Disk;
	try {
		await disk?.fill();
		if (isNats && disk) await untilReceiveTells(scene);
		await delay(forMs);
	} finally {
		await disk?.free();
	}
	if (isNats) {
		if (disk) await untilReloaderEnds(scene, disk.directory);
		await nats.kill();
		await nats.start();
	}
	release();
	return { verdict: "go" };
}

/** Receive's `/readyz` says that something is wrong. */
async function untilReceiveTells({ receive }: Scene): Promise<void> {
	await eventually("told", async () => {
		const answer = await fetch(`${receive.healthUrl}/readyz`);
		return (await answer.text()) === "ok\n"
			? "receive says that all is well, though NATS has no room"
			: undefined;
	});
}

async function untilReloaderEnds(
	{ natsMonitor }: Scene,
	directory: string,
): Promise<void> {
	await eventually("told", async () => {
		const answer = await fetch(`${natsMonitor}/healthz?details=true`);
		const health = (await answer.json()) as NatsHealth;
		return hasGivenUpWriting(health) && hasRoom(await statfs(directory))
			? undefined
			: `NATS isn't started anew after its disk was full: it says ${JSON.stringify(health)}`;
	});
}

/** Not even the smallest message has room, until archive has emptied its streams, and a while longer. */
async function fillJetStream(scene: Scene, forMs: number): Promise<Struck> {
	const { admin } = scene;
	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	const others = "others";
	for (const bytes of [1_000_000, 30_000, 1_000, 1])
		await eventually("fault", async () => {
			await streams.add({ name: others, subjects: [others] });
			for (;;) {
				const sent = jetstream(admin).publish(others, Buffer.alloc(bytes));
				if (await sent.then(() => false, isNoRoom)) return undefined;
			}
		});
	return {
		verdict: "go",
		heal: async () => {
			await untilReceiveTells(scene);
			await untilEmpty(scene);
			await delay(forMs);
			await eventually("fault", async () => {
				for await (const name of streams.names(others))
					await streams.delete(name);
				return undefined;
			});
		},
	};
}

async function untilEmpty(scene: Scene): Promise<void> {
	await eventually("archived", async () => {
		const found = await scene.streams();
		const full = found.find(({ state }) => state.messages > 0);
		return full && `${full.name} has frames that aren't archived`;
	});
}

/**
 * URLs go on while resources are missing, and others are told to come again. The last Source isn't restored: its URL is closed
 * once a person says that no more will come.
 */
async function emptyEtcd(scene: Scene, forMs: number): Promise<void> {
	const { moves, receive } = scene;
	const release = await scene.locks.take("routes");
	// It stores no event.
	const last = newSource({ source: "last", suspended: true });
	const stranger = newSource({});
	const untilAnswered = (path: string, expected: number) =>
		eventually("route", async () => {
			const { status } = await sendJSON(receive.url + path, "1");
			if (status === expected) return undefined;
			const said = `a URL is answered ${status}, and ${expected} was to come`;
			if (status === 404 && moves.isRestoreAwaited)
				throw new Violation("route", said);
			return said;
		});
	await moves.publish([...scene.routes, last.route]);
	await untilAnswered(last.path, 403);
	moves.emptyEtcd();
	await moves.publish(scene.routes.slice(0, 1));
	await untilAnswered(stranger.path, 503);
	if (!moves.isRestoreAwaited)
		throw new Violation("told", "the operator doesn't ask for a person's word");
	await delay(forMs);
	await moves.publish(scene.routes);
	await untilAnswered(last.path, 403);
	moves.sayComplete();
	await moves.publish(scene.routes);
	release();
	for (const { path } of [last, stranger]) await untilAnswered(path, 404);
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

/** @param backlog so many events are in no other place. */
async function loseDisk(
	scene: Scene,
	backlog: number,
	by: string,
): Promise<Struck> {
	const { locks, parts, nats } = scene;
	const releases: (() => void)[] = [];
	const archives = backlog > 0 ? archiveNames : [];
	for (const name of [...archives, "nats"])
		releases.push(await locks.take(name));
	for (const name of archives) await parts[name]!.kill();
	if (backlog > 0) await scene.untilMore(backlog);
	await nats.kill();
	return {
		verdict: by === "nobody" ? "go" : "lose",
		heal: async () => {
			await scene.renewNats(() =>
				Promise.all(archives.map((name) => parts[name]!.start())),
			);
			for (const release of releases) release();
		},
	};
}

/** The PubAck is held until its frame is archived and purged, and lost with NATS, which forgets the frame's id. */
async function forget(scene: Scene): Promise<Struck> {
	await untilEmpty(scene);
	const release = await scene.locks.take("nats");
	await scene.nats.kill();
	return { verdict: "lose", heal: () => scene.nats.start().finally(release) };
}
