/**
 * Why a shard must stop: what archive finds contradicts itself, and to continue, it would have to guess about events. It
 * archives and purges nothing, and the frames stay in the stream. Each text says what a person should do;
 * docs/reference/errors.md says more. What is only gone is no alarm: see {@link file://./loss.ts}.
 */
export const alarms = {
	FrameUnreadable:
		"Upgrade archive before receive, then restart archive. If no version can read the frame, purge it by tidemill buffer.",
	CutsMissing:
		"Check that S3_BUCKET and S3_PREFIX haven't changed since this stream began. If cut records were deleted, restore them. If they are gone for good, accept that: `tidemill ledger accept-bucket`.",
	CutMismatch:
		"The stream was restored from a backup or tampered with, or the cut record was changed. Restore whichever is wrong.",
	CutUnreadable:
		"Restore the record, or upgrade archive if a newer version wrote it.",
	StreamBehind:
		"The stream was restored from an old backup. Save its frames, then give it up by tidemill buffer: archive makes a new one.",
} as const;

export type AlarmCode = keyof typeof alarms;

/** Stops the shard until a restart; see {@link alarms}. `what` says what was found, and where. */
export class Alarm extends Error {
	override name = "Alarm";
	readonly code: AlarmCode;

	constructor(code: AlarmCode, what: string, options?: ErrorOptions) {
		super(`${what}. ${alarms[code]}`, options);
		this.code = code;
	}
}
