/**
 * The API has receive take a stored event once more (request/reply on {@link file://./nats.ts sendAgainSubject}): this as JSON, a line
 * feed, and the stored body. Receive checks no credential of it, so only the API's user of NATS may publish there.
 */
export interface SendAgain {
	account: string;
	sourceKey: string;
	/** Event ID of the first. */
	of: string;
	kind: "json" | "form";
	/** The captured fields of the first ({@link file://./route.ts parameterField}). */
	fields: Record<string, string>;
	/** `Repeat`: under its sender's key, if what is kept still has it. `New`: without one. */
	as: SentAgainAs;
}

export type SentAgainAs = "Repeat" | "New";

export const sentAgainAs: readonly SentAgainAs[] = ["Repeat", "New"];

export interface SendAgainAnswer {
	/** Of what a sender would get. */
	status: number;
	eventID?: string;
	/** Whether the Source has an event of this key already: then nothing was stored, and `eventID` is that one's. */
	isRepeat?: true;
	error?: { code: string; message: string };
}

/** The captured field by which an event names the one that it repeats. Receive alone sets it: no sender's header becomes one. */
export const sentAgainField = "tidemill-again-of";
