import { expect, test } from "vitest";
import { etagOf, requireMatch } from "./views.ts";

const object = { metadata: { name: "shop", uid: "a", generation: 3 } };
const etag = etagOf(object);

test.each([undefined, "*", etag, `"2", ${etag}`])(
	"If-Match %s allows the change",
	(header) => {
		expect(() => requireMatch(header, object)).not.toThrow();
	},
);

test.each(['"2"', "3", '"3"', `W/${etag}`, ""])(
	"If-Match %s refuses the change",
	(header) => {
		expect(() => requireMatch(header, object)).toThrow(
			`The resource changed (ETag ${etag}). Fetch it and retry.`,
		);
	},
);

test("the ETag changes with the labels, not with their order", () => {
	const etag = (labels: Record<string, string>) =>
		etagOf({ metadata: { ...object.metadata, labels } });
	expect(etag({ a: "1", b: "2" })).toBe(etag({ b: "2", a: "1" }));
	const all = [{}, { a: "1" }, { a: "2" }, { b: "1" }].map(etag);
	expect(new Set(all).size).toBe(4);
});

test("a resource that is made again has another ETag", () => {
	const again = { metadata: { ...object.metadata, uid: "b" } };
	expect(etagOf(again)).not.toBe(etag);
	expect(() => requireMatch(etag, again)).toThrow("The resource changed");
});
