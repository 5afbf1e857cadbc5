import { expect, test } from "vitest";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { BodyParts, inOnePiece } from "./body-parts.ts";

test("a body in pieces of any size keeps its bytes in order", () => {
	const random = seededRandom();
	for (let round = 0; round < 200; round++) {
		const pieces = Array.from({ length: Math.floor(random() * 40) }, () => {
			const bytes = Math.floor(random() * (random() < 0.3 ? 20_000 : 300));
			return Buffer.alloc(bytes, Math.floor(random() * 256));
		});
		const body = new BodyParts();
		for (const piece of pieces) {
			body.add(piece);
			// Reading the parts in between changes nothing.
			if (random() < 0.1) expect(body.all.length).toBeGreaterThan(0);
		}
		const whole = Buffer.concat(pieces);
		expect(inOnePiece(body.all).equals(whole)).toBe(true);
		expect(Buffer.concat(body.all).equals(whole)).toBe(true);
	}
});

test("a body that arrives byte by byte is held in few parts; one that arrives whole is not copied", () => {
	const body = new BodyParts();
	for (let n = 0; n < 100_000; n++) body.add(Buffer.from([n & 255]));
	expect(body.all.length).toBeLessThan(30);
	const whole = Buffer.from("{}");
	const other = new BodyParts();
	other.add(whole);
	expect(inOnePiece(other.all)).toBe(whole);
});

test("large pieces among small ones cost no more than twice their bytes", () => {
	const body = new BodyParts();
	let bytes = 0;
	for (let n = 0; n < 1_000; n++)
		for (const piece of [Buffer.alloc(1), Buffer.alloc(4_096)]) {
			body.add(piece);
			bytes += piece.length;
		}
	const held = body.all.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
	expect(held).toBeLessThan(2.1 * bytes);
});
