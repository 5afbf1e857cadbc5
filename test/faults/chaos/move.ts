import { randomUUID } from "node:crypto";
import type { Route } from "../../../packages/contracts/route.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import {
	md5,
	sendPersistently,
} from "../../support/senders/persistent-sender.ts";
import {
	type AskedManifest,
	type ObjectRow,
	verifyManifest,
} from "./checks/checks.ts";
import { rowsOf } from "./checks/verify.ts";
import { manifestFiles } from "./load.ts";
import type { Move } from "./plan.ts";
import { keyHeader, type Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";

const keysPerMove = 4;

/**
 * Moves a Source each time that so many more events have come. After each move senders repeat the keys that they have used, unless
 * NATS may lose them, and a manifest is asked for. Returns these, for {@link verifyMoved}.
 */
export async function moveSource(
	scene: Scene,
	{ source, after }: Move,
	keepsKeys: boolean,
): Promise<AskedManifest[]> {
	const index = source % scene.routes.length;
	const bodies: string[] = [];
	const asked: Promise<AskedManifest>[] = [];
	for (const events of after) {
		await scene.untilMore(events);
		bodies.push(...(await sendKeyed(scene, index)));
		await scene.moveToNextShard(index);
		if (keepsKeys) await repeatKeyed(scene, index, bodies);
		const due = new Set(scene.sent.acknowledged.keys());
		// While an archive is away the next move doesn't wait for it.
		asked.push(askManifest(scene, scene.routes[index]!, due));
		asked.at(-1)!.catch(() => undefined);
	}
	return Promise.all(asked);
}

/** Throws a {@link Violation} unless these manifests are whole, and one that is asked for now in each of the Source's shards. */
export async function verifyMoved(
	scene: Scene,
	{ source }: Move,
	asked: readonly AskedManifest[],
	rows: readonly ObjectRow[],
): Promise<void> {
	const route = scene.routes[source % scene.routes.length]!;
	const own = rows.filter(({ sourceKey }) => sourceKey === route.sourceKey);
	for (const manifest of asked) verifyManifest(manifest, own);
	const due = new Set(own.map(({ event_id }) => event_id));
	for (const shard of scene.moves.shardsOf(route))
		verifyManifest(await askManifest(scene, { ...route, shard }, due), own);
}

async function askManifest(
	scene: Scene,
	route: Route,
	due: ReadonlySet<string>,
): Promise<AskedManifest> {
	const rows = await rowsOf(scene, await manifestFiles(scene, route));
	return { what: `${route.source} from shard ${route.shard}`, due, rows };
}

/** Their bodies. */
async function sendKeyed(scene: Scene, index: number): Promise<string[]> {
	const bodies: string[] = [];
	await sendPersistently({
		urls: [scene.urls[index]!],
		senders: 1,
		body: () => {
			const body = scene.body(index, { text: randomUUID() });
			bodies.push(body);
			return body;
		},
		headers: keyOf,
		isDone: () => bodies.length === keysPerMove,
		sent: scene.sent,
		now: () => scene.clock.now(),
	});
	return bodies;
}

/** Those that were acknowledged are sent once more, and answered as before. */
async function repeatKeyed(
	{ sent, urls }: Scene,
	index: number,
	bodies: readonly string[],
): Promise<void> {
	const ids = new Map(
		[...sent.acknowledged].map(([id, { digest }]) => [digest, id]),
	);
	for (const body of bodies) {
		const id = ids.get(md5(body));
		if (id === undefined) continue;
		await eventually("keys", async () => {
			const headers = keyOf(body);
			const answer = await sendJSON(urls[index]!, body, { headers });
			// The receiver that stored it may have died before it said so, and archive will.
			if (answer.status !== 200) return JSON.stringify(answer.json);
			const { event_id } = answer.json;
			if (event_id === id) return undefined;
			throw new Violation(
				"keys",
				`a key that was answered with event ${id} is answered with ${event_id} after a move`,
			);
		});
	}
}

function keyOf(body: string): Record<string, string> {
	return { [keyHeader]: md5(body) };
}
