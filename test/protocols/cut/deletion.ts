import type { Protocol } from "./protocol.ts";
import type { Deletion, ScriptFrame, World } from "./world.ts";

/** A step that the world may take. */
interface Step {
	name: string;
	state: World;
}

/**
 * The steps of ingest/lake/retention/deletion.ts for source B, and the sweep. Nobody tells an archiver at work of the
 * deletion: each learns of it when it starts again.
 */
export function deletionSteps(
	world: World,
	script: readonly ScriptFrame[],
	protocol: Protocol,
): Step[] {
	const { deletion, stream, objectsDone } = world;
	if (!deletion) return [];
	const to = (next: Deletion, change: Partial<World> = {}): Step[] => [
		{
			name: `deletion: ${next.at}`,
			state: { ...world, ...change, deletion: next },
		},
	];
	switch (deletion.at) {
		case "wanted":
			return to({ at: "tombstone" });
		case "tombstone": {
			const deleted = stream.frames.map((frame) =>
				[...(frame ? script[frame[0]]!.events : "")].filter(isOfDeleted),
			);
			const last = deleted.findLastIndex(({ length }) => length > 0);
			return to({
				at: "flush",
				through: last < 0 ? 0 : stream.first + last,
				events: deleted.flat().join(""),
			});
		}
		case "flush": {
			const isFlushed = (objectsDone[stream.name] ?? 0) >= deletion.through!;
			return isFlushed || !protocol.flushesFirst
				? to({ ...deletion, at: "delete" })
				: [];
		}
		case "delete":
			return to({ ...deletion, at: "done" }, withoutDeleted(world));
		case "done":
			return protocol.hasTombstones && deletedObjects(world).length > 0
				? [{ name: "sweep", state: { ...world, ...withoutDeleted(world) } }]
				: [];
	}
}

/** What is wrong about a source that is deleted. */
export function deletionFault(
	world: World,
	isAtRest: boolean,
): string | undefined {
	const { deletion, archivers } = world;
	if (deletion?.at !== "done") return undefined;
	const left = deletedObjects(world).map((key) => world.objects[key]!);
	if (isAtRest && left.length > 0)
		return `event ${left.join("")} of the deleted source is in the bucket`;
	// Another archiver may have slept, and is swept after.
	const back = [...left.join("")].find((event) =>
		deletion.events!.includes(event),
	);
	return archivers.length === 1 && back
		? `event ${back} came back after the deletion was done`
		: undefined;
}

export function isOfDeleted(event: string): boolean {
	return event === event.toUpperCase();
}

function deletedObjects({ objects }: World): string[] {
	return Object.keys(objects).filter((key) => key.startsWith("B/"));
}

function withoutDeleted(world: World): Pick<World, "objects"> {
	const objects = { ...world.objects };
	for (const key of deletedObjects(world)) delete objects[key];
	return { objects };
}
