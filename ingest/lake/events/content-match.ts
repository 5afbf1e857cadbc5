import type { ContentMatch } from "../../../packages/contracts/stored-event.ts";
import { numberForm } from "../../../packages/json/json-reader.ts";
import { isMeant } from "../../../packages/warehouses/load/body-values.ts";

/**
 * Whether an event has a value: the string or the number that its body has there, or a list that has it, as an Erase takes it; or a
 * captured field. `1001` is no part of `21001`.
 * @param body valid JSON.
 * @param headers the captured fields as JSON; empty if there are none.
 */
export function hasContent(
	{ bodyPointer, field, value }: ContentMatch,
	body: Uint8Array,
	headers: string,
): boolean {
	if (bodyPointer === undefined)
		return headers !== "" && JSON.parse(headers)[field] === value;
	const text = Buffer.from(
		body.buffer,
		body.byteOffset,
		body.length,
	).toString();
	return (
		isMeant(text, { bodyPointer, equals: value }) ||
		(numberForm.test(value) &&
			isMeant(text, { bodyPointer, equalsNumber: value }))
	);
}
