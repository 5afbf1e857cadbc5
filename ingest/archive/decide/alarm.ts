import { type Loss, lossId } from "./loss.ts";

/**
 * Why a shard must stop: going on would need a guess about events. Nothing is archived or purged after one, and the
 * frames stay in the stream. Each says what a person should look at. Those that know what is lost can be accepted; what
 * to do about the others is in docs/reference/errors.md.
 */
export const alarms = {
	FrameUnreadable:
		"Upgrade archive before receive, then start archive again. What no version can read can be purged, and accepted as lost.",
	FrameGap:
		"Frames that receive was promised are missing from the stream: NATS lost them. Compare the stream with its backups and receive's log. What can't be had back can be accepted as lost.",
	FramesMissing:
		"Check that S3_BUCKET and S3_PREFIX are the ones this stream was always archived to, and that nobody but archive purges the stream. What can't be had back can be accepted as lost.",
	CutMismatch:
		"The stream was restored from a backup or tampered with, or the cut record was changed. Restore the one that is wrong.",
	CutUnreadable:
		"Restore the record, or upgrade archive if a newer one wrote it.",
	StreamBehind:
		"The stream was restored from an old backup. Delete it to begin a new one once its frames are saved.",
} as const;

export type AlarmCode = keyof typeof alarms;

/** Stops the shard, for good unless it has a loss that is accepted; see {@link alarms}. `what` says what was found, and where. */
export class Alarm extends Error {
	override name = "Alarm";
	readonly code: AlarmCode;
	/** What a person may accept as lost, to have archive go on. */
	readonly loss: Loss | undefined;

	constructor(
		code: AlarmCode,
		what: string,
		{ loss, ...options }: ErrorOptions & { loss?: Loss } = {},
	) {
		const way = loss
			? ` To go on without them: tidemill shard accept-loss ${loss.stream} ${lossId(loss)}`
			: "";
		super(`${what}. ${alarms[code]}${way}`, options);
		this.code = code;
		this.loss = loss;
	}
}
