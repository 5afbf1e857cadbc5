import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectStoreSettings } from "../../packages/bucket/s3-client.ts";
import { readStoreSettings } from "../../packages/bucket/store-settings.ts";
import type { Logger } from "../../packages/service/log.ts";
import {
	SettingError,
	type Settings,
} from "../../packages/service/settings.ts";
import { cutSize } from "./read/frame-queue.ts";
import type { CutLimits } from "./read/frame-wait.ts";
import type { StreamSettings } from "./read/shard-stream.ts";
import type { KeySettings } from "./write/idempotency-settlement.ts";

export interface ArchiveSettings {
	shards: number[];
	store: ObjectStoreSettings;
	limits: CutLimits;
	compaction: {
		/** How many objects a closed date must have to be compacted; 0 turns compaction off. */
		minObjects: number;
		/** How often archive looks for due dates, on average. */
		intervalMs: number;
	};
	lists: {
		/** How often archive writes the lists of objects that have changed, on average; 0 for never. */
		intervalMs: number;
	};
	stream: StreamSettings & KeySettings;
	scratch: string;
}

const mib = 1024 * 1024;
const largest = Number.MAX_SAFE_INTEGER;

/** Reads archive's settings; throws {@link SettingError}. */
export function readArchiveSettings(
	settings: Settings,
	log: Logger,
): ArchiveSettings {
	const shards = readShards(settings.text("ARCHIVE_SHARDS", "0"));
	const maxBytes = settings.integer(
		"ARCHIVE_MAX_BYTES",
		[1, 1024 * mib],
		8 * mib,
	);
	return {
		shards,
		store: readStoreSettings(settings, log),
		limits: {
			...cutSize(maxBytes, shards.length),
			maxAgeMs: settings.integer("ARCHIVE_MAX_AGE_MS", [1, 3_600_000], 60_000),
		},
		compaction: {
			minObjects: settings.integer(
				"ARCHIVE_COMPACTION_MIN_OBJECTS",
				[0, largest],
				8,
			),
			intervalMs: settings.integer(
				"ARCHIVE_COMPACTION_INTERVAL_MS",
				[1, 86_400_000],
				600_000,
			),
		},
		lists: {
			intervalMs: settings.integer(
				"ARCHIVE_LISTS_INTERVAL_MS",
				[0, 86_400_000],
				300_000,
			),
		},
		stream: {
			maxBytes: settings.integer(
				"STREAM_MAX_BYTES",
				[64 * mib, largest],
				8 * 1024 * mib,
			),
			replicas: settings.replicas(),
			maxKeys: settings.integer(
				"IDEMPOTENCY_MAX_KEYS",
				[1, 100_000_000],
				2_000_000,
			),
		},
		scratch: settings.text(
			"ARCHIVE_SCRATCH",
			join(tmpdir(), "tidemill-archive"),
		),
	};
}

function readShards(text: string): number[] {
	const shards = text.split(",").map((part) => part.trim());
	if (!shards.every((shard) => /^\d{1,4}$/.test(shard)))
		throw new SettingError(
			`ARCHIVE_SHARDS is "${text}". It must be shard numbers separated by commas, like 0,1.`,
		);
	return [...new Set(shards.map(Number))];
}
