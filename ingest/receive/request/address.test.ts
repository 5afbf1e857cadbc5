import { expect, test } from "vitest";
import { parseAddress } from "./address.ts";

const key = "0123456789abcdef".repeat(2);

test("a webhook URL has a source key, a URL key, and possibly a token", () => {
	const keys = { sourceKey: key, urlKey: key };
	const path = `/hooks/${key}/${key}`;
	expect(parseAddress(path)).toEqual(keys);
	expect(parseAddress(`${path}?a=b`)).toEqual({ ...keys, query: "a=b" });
	expect(parseAddress(`${path}?a=b&token=a%20b+c%3D=&x`)).toEqual({
		...keys,
		token: "a b+c==",
		query: "a=b&token=a%20b+c%3D=&x",
	});
	expect(parseAddress(`${path}?token=%ff`)?.token).toBeUndefined();
});

test.each([
	"/",
	`/hooks/${key}`,
	`/hooks/${key}/`,
	`/hooks/${key}/${key}/`,
	`/hooks/${key}/${key.slice(1)}`,
	`/hooks/${key.toUpperCase()}/${key}`,
	`//hooks/${key}/${key}`,
	`http://host/hooks/${key}/${key}`,
	"*",
])("%s is no webhook URL", (target) => {
	expect(parseAddress(target)).toBeUndefined();
});
