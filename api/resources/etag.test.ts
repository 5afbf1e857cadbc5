import { expect, test } from "vitest";
import { etagOf, requireMatch } from "./views.ts";

const object = { metadata: { name: "shop", generation: 3 } };

test.each([undefined, "*", '"3"', '"2", "3"'])(
	"If-Match %s allows the change",
	(header) => {
		expect(() => requireMatch(header, object)).not.toThrow();
	},
);

test.each(['"2"', "3", 'W/"3"', ""])(
	"If-Match %s refuses the change",
	(header) => {
		expect(() => requireMatch(header, object)).toThrow(
			'The resource changed (ETag "3"). Fetch it and retry.',
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
