import { doNow } from "../../../ingest/receive/admission/long-work.ts";
import {
	jsonText,
	validateText,
} from "../../../ingest/receive/body/request-body.ts";
import type { RequestRefusal } from "../../../ingest/receive/request/refusal.ts";
import type { FormType } from "../../../ingest/receive/request/request-head.ts";
import type { ContentKind } from "../../../ingest/wire/frame-event.ts";

/** What receive stores of a body, or why it doesn't. */
export function stored(
	kind: ContentKind,
	body: Buffer,
	take: (bytes: number) => boolean = () => true,
	form?: FormType,
): readonly Uint8Array[] | RequestRefusal {
	const text =
		validateText(kind, body) ?? doNow(jsonText(kind, [body], take, form));
	return "status" in text ? text : text.parts;
}

/** The same as text; throws if receive refuses the body. */
export function storedText(
	kind: ContentKind,
	body: Buffer,
	form?: FormType,
): string {
	const parts = stored(kind, body, undefined, form);
	if ("status" in parts) throw new Error(parts.code);
	return Buffer.concat(parts).toString();
}
