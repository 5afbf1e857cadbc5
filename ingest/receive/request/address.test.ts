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

test("a webhook URL may be called as a proxy is asked for it, and with one slash at the path's end", () => {
	const keys = { sourceKey: key, urlKey: key };
	const path = `/hooks/${key}/${key}`;
	for (const origin of ["http://host", "https://host:8443", "HTTP://u@[::1]:1"])
		expect(parseAddress(origin + path)).toEqual(keys);
	expect(parseAddress(`http://host${path}/?token=t`)).toEqual({
		...keys,
		slash: "/",
		token: "t",
		query: "token=t",
	});
	expect(parseAddress(`${path}/`)).toEqual({ ...keys, slash: "/" });
});

test.each([
	"/",
	`/hooks/${key}`,
	`/hooks/${key}/`,
	`/hooks/${key}/${key}//`,
	`/hooks/${key}/${key}/x`,
	`/hooks/${key}//${key}`,
	`/./hooks/${key}/${key}`,
	`/hooks/${key}/${key}/.`,
	`/hooks/${key}/${key}%2f`,
	`/hooks/${key}/${key}#part`,
	`/hooks/${key}/${key.slice(1)}`,
	`/hooks/${key.toUpperCase()}/${key}`,
	`//hooks/${key}/${key}`,
	`http:/hooks/${key}/${key}`,
	`ftp://host/hooks/${key}/${key}`,
	`http://host?/hooks/${key}/${key}`,
	`http://host/x/hooks/${key}/${key}`,
	`hooks/${key}/${key}`,
	"*",
])("%s is no webhook URL", (target) => {
	expect(parseAddress(target)).toBeUndefined();
});
