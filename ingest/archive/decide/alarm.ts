import { type Loss, lossId } from "./loss.ts";

/**
 * Why a shard must stop: to continue, archive would have to guess about events. It archives and purges nothing, and the
 * frames stay in the stream. Each text says what a person should do. A person can accept an alarm that names its loss;
 * docs/reference/errors.md covers the others.
 */
export const alarms = {
	FrameUnreadable:
		"Upgrade archive before receive, then restart archive. If no version can read the frame, purge it and accept the loss.",
	FrameGap:
		"NATS acknowledged these frames and lost them. Compare the stream with its backups and with receive's log. If the frames can't be restored, accept the loss.",
	FramesMissing:
		"Check that S3_BUCKET and S3_PREFIX haven't changed since this stream began, and that only archive purges the stream. If the frames can't be restored, accept the loss.",
	CutMismatch:
		"The stream was restored from a backup or tampered with, or the cut record was changed. Restore whichever is wrong.",
	CutUnreadable:
		"Restore the record, or upgrade archive if a newer version wrote it.",
	StreamBehind:
		"The stream was restored from an old backup. Save its frames, then delete it: archive makes a new one.",
} as const;

export type AlarmCode = keyof typeof alarms;

/** Stops the shard until a restart, or until a person accepts its loss; see {@link alarms}. `what` says what was found, and where. */
export class Alarm extends Error {
	override name = "Alarm";
	readonly code: AlarmCode;
	/** The loss that a person may accept, so that archive continues. */
	readonly loss: Loss | undefined;

	constructor(
		code: AlarmCode,
		what: string,
		{ loss, ...options }: ErrorOptions & { loss?: Loss } = {},
	) {
		const way = loss
			? ` To continue without them: tidemill shard accept-loss ${loss.stream} ${lossId(loss)}`
			: "";
		super(`${what}. ${alarms[code]}${way}`, options);
		this.code = code;
		this.loss = loss;
	}
}
