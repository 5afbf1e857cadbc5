import { expect, test } from "vitest";
import { FrameBuilder } from "./frame-builder.ts";

function event(bytes: number) {
	const encoded = [Buffer.alloc(bytes)];
	return {
		account: "shop",
		source: "s",
		encoded,
		bytes,
		frameVersion: 1 as const,
	};
}

test("a frame takes the memory of an earlier one of the same size", () => {
	const newProcess = () => "ab".repeat(16);
	const builder = new FrameBuilder({ newProcess, maxFrameBytes: 1_000 });
	// With its head, the frame fills its buffer.
	const build = () => builder.build("s", [event(256 - 32)]).frame.data;
	const first = build();
	expect(first.buffer.byteLength).toBe(256);
	builder.stored(1, 0);
	builder.reuse(first);
	expect(build().buffer).toBe(first.buffer);
});
