import { type Steps, stepBytes } from "../long-work/steps.ts";
import { isJSON, JSONScanner } from "./json.ts";

/** Whether the parts together are one JSON value, step by step. */
export function* isJSONText(parts: readonly Uint8Array[]): Steps<boolean> {
	const [first] = parts;
	if (parts.length === 1 && first!.length <= stepBytes) return isJSON(first!);
	const scanner = new JSONScanner();
	for (const part of parts)
		for (let at = 0; at < part.length; at += stepBytes) {
			const piece = part.subarray(at, at + stepBytes);
			if (!scanner.read(piece)) return false;
			yield piece.length;
		}
	return scanner.isWhole;
}
