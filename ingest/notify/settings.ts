import type { BlockList } from "node:net";
import type { Logger } from "../../packages/service/log.ts";
import {
	readSealKeys,
	type SecretSealer,
} from "../../packages/service/seal-key.ts";
import {
	SettingError,
	type Settings,
} from "../../packages/service/settings.ts";
import { networkList } from "./network-list.ts";

/** Notify's settings, beside NATS_URL and the health server's address. */
export interface NotifySettings {
	sealKey: SecretSealer;
	/** Networks that may be called although they aren't public, and by http. */
	allowedNetworks: BlockList;
	timeoutMs: number;
	/** Of the bucket of deliveries. */
	replicas: number;
}

/** Throws {@link SettingError}. */
export function readNotifySettings(
	settings: Settings,
	log: Logger,
): NotifySettings {
	const sealKey = readSealKeys(settings, log);
	if (!sealKey)
		throw new SettingError(
			"TIDEMILL_SEAL_KEY is not set. It must name the same file as the operator's: with it, notify opens the webhooks.",
		);
	return {
		sealKey,
		allowedNetworks: readNetworks(settings),
		timeoutMs: settings.integer("NOTIFY_TIMEOUT_MS", {
			min: 100,
			max: 15_000,
			fallback: 10_000,
		}),
		replicas: settings.integer("STREAM_REPLICAS", {
			min: 1,
			max: 5,
			fallback: 1,
		}),
	};
}

function readNetworks(settings: Settings): BlockList {
	const text = settings.optional("NOTIFY_ALLOWED_NETWORKS");
	try {
		return networkList(text?.split(",").map((part) => part.trim()) ?? []);
	} catch {
		throw new SettingError(
			`NOTIFY_ALLOWED_NETWORKS is "${text}". It must be networks separated by commas, such as 10.20.0.0/16,fd00:20::/32.`,
		);
	}
}
