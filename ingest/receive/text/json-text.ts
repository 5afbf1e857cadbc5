import { type Steps, stepBytes } from "../admission/steps.ts";
import { isJSON, JSONScanner } from "./json.ts";

/** Whether the text is short enough to be read in one step. */
export function isOneStep(parts: readonly Uint8Array[]): boolean {
	return parts.length === 1 && parts[0]!.length <= stepBytes;
}

/** Whether the parts together are one JSON value, step by step. */
export function* isJSONText(parts: readonly Uint8Array[]): Steps<boolean> {
	if (isOneStep(parts)) return isJSON(parts[0]!);
	const scanner = new JSONScanner();
	for (const part of parts)
		for (let at = 0; at < part.length; at += stepBytes) {
			const piece = part.subarray(at, at + stepBytes);
			if (!scanner.read(piece)) return false;
			yield piece.length;
		}
	return scanner.isWhole;
}
