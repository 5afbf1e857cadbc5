import type { TraceContext } from "../../packages/service/trace-context.ts";

/** What the sender sent: JSON text, stored as sent, or a form, stored as a JSON object. */
export type ContentKind = "json" | "form";

export interface FrameEvent {
	/** UUIDv7, 16 bytes. */
	id: Uint8Array;
	/** Receipt time, milliseconds since the epoch; the same clock reading as in the id. */
	receivedAtMs: number;
	/** 32 hex digits. */
	sourceKey: string;
	/** Namespace of the Source. */
	account: string;
	kind: ContentKind;
	/** Captured headers and query parameters as a JSON object, empty when there are none. */
	headers: string;
	/** The tracking plan's {@link file://../../packages/contracts/tracking-plan.ts Judgement} as JSON; empty without a plan. */
	violations: string;
	/** The tracking plan keeps the event apart: it is stored, and loaded into no table until it is released. */
	quarantined?: true | undefined;
	/** Digest of the sender's idempotency key, 32 hex digits; absent when the event has none. */
	key?: string | undefined;
	/** JSON text in UTF-8. */
	body: Uint8Array;
	/** The span that stored it. It isn't in the frame's bytes: a header of the message has it, if the event has a trace. */
	trace?: TraceContext | undefined;
}
