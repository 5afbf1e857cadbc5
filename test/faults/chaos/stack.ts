import { LoopDisk } from "../../support/faults/loop-disk.ts";
import { startS3 } from "../../support/servers/servers.ts";
import { Scene, type SharedStore } from "./scene/scene.ts";

/** What all seeds of a test run share. */
export interface Stack extends SharedStore {
	/**
	 * A data plane that runs the code below `root`: the one of the last seed where that will do. The numbers decide what its
	 * tracking plan says. `hasNatsClock`: NATS's own clock can be set.
	 */
	scene(
		root: string,
		random: () => number,
		options: { hasNatsClock: boolean },
	): Promise<Scene>;
	/** The next seed needs another data plane. */
	leaveScene(): Promise<void>;
	stop(): Promise<void>;
}

/** After these an archive that starts has too much to read. */
const seedsOfScene = 8;

/** `make chaos SHARDS=4`. With one shard, no fault finds what one does to another. */
const shards = Number(process.env.CHAOS_SHARDS ?? 2);

export async function startStack(): Promise<Stack> {
	const hasDisks = await LoopDisk.isPossible();
	const s3Disk = hasDisks ? await LoopDisk.make(1_024) : undefined;
	const s3 = await startS3(s3Disk?.directory);
	let scene: Scene | undefined;
	let rootOfScene: string | undefined;
	const leaveScene = async () => {
		await scene?.close();
		scene = undefined;
	};
	const store = { s3, s3Disk, hasDisks, shards };
	return {
		...store,
		scene: async (root, random, options) => {
			const isWorn = scene && scene.uses >= seedsOfScene;
			const isOther = scene && scene.hasNatsClock !== options.hasNatsClock;
			if (isWorn || isOther || root !== rootOfScene) await leaveScene();
			rootOfScene = root;
			scene ??= await Scene.open(store, root, options);
			await scene.renew(random);
			return scene;
		},
		leaveScene,
		stop: async () => {
			await leaveScene();
			await s3.stop();
			await s3Disk?.remove();
		},
	};
}
