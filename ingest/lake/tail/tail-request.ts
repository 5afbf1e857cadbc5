import type {
	TailRenewal,
	TailRequest,
} from "../../../packages/contracts/event-tail.ts";
import { accountForm } from "../../wire/frame.ts";
import { type Fields, parse } from "../request/fields.ts";

/** A UUID. */
const tailForm = /^[0-9a-f-]{36}$/;
const maxIndex = 1e9;

/** Throws RequestFailure QuestionInvalid, which says what is wrong. */
export function readTailRequest(text: string): TailRequest {
	const request = parse("tail", text);
	return {
		tail: request.field("tail", tailForm),
		account: request.field("account", accountForm),
		sourceKey: request.field("sourceKey", /^[0-9a-f]{32}$/),
		...(request.isTrue("body") && { body: true }),
		...(request.has("after") && { after: positionIn(request.inside("after")) }),
	};
}

/** Throws RequestFailure QuestionInvalid, which says what is wrong. */
export function readTailRenewal(text: string): TailRenewal {
	const renewal = parse("tail renewal", text);
	return {
		tail: renewal.field("tail", tailForm),
		...(renewal.isTrue("end") && { end: true }),
	};
}

function positionIn(after: Fields) {
	return {
		stream: after.field("stream", /^[\w-]{1,255}$/),
		sequence: after.number("sequence", 0, Number.MAX_SAFE_INTEGER),
		...(after.has("index") && { index: after.number("index", 0, maxIndex) }),
	};
}
