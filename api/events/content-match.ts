import type { ContentMatch } from "../../packages/contracts/stored-event.ts";
import { invalidParameter } from "../http/errors.ts";

export const maxMatchLength = 1_500;
const maxPointerLength = 500;
const maxFieldLength = 200;
const maxValueLength = 1_000;

/**
 * What a query's `match` asks for: `/order/id=1001`, `x-github-delivery=…` for a captured header, `?shop=…` for a captured parameter. The
 * first equals sign divides. Throws a 400 for anything else.
 */
export function contentMatchOf(text: string): ContentMatch {
	const at = text.indexOf("=");
	const [place, value] = [text.slice(0, at), text.slice(at + 1)];
	const field = place.startsWith("?") ? place : place.toLowerCase();
	const isPointer = /^(\/([^~]|~[01])*)?$/.test(place);
	// The names that a Source can capture: RFC 9110's tokens, and any parameter.
	const isField = /^(\?.+|[\w!#$%&'*+.^`|~-]+)$/s.test(field);
	const most = isPointer ? maxPointerLength : maxFieldLength;
	const isWhole =
		at >= 0 && place.length <= most && value.length <= maxValueLength;
	if (!isWhole || !(isPointer || isField))
		throw invalidParameter(
			"match",
			`must be a place and a value of at most ${maxValueLength} characters, such as /order/id=1001 for a place in the body, x-github-delivery=… for a captured header or ?shop=… for a captured query parameter`,
			text,
		);
	return isPointer ? { bodyPointer: place, value } : { field, value };
}
