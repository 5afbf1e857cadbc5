import { expect, test } from "vitest";
import { requireMatch } from "./etag.ts";

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
