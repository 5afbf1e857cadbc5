import { expect, test } from "vitest";
import {
	cacheCompiledCode,
	cacheDirectory,
	compileCacheDirectory,
} from "./cache.ts";

test.each([
	[{ HOME: "/home/ann" }, "/home/ann/.cache/tidemill"],
	[{ HOME: "/home/ann", XDG_CACHE_HOME: "/fast" }, "/fast/tidemill"],
	[{ XDG_CACHE_HOME: "/fast", TIDEMILL_CACHE: "/mine" }, "/mine"],
	[{ HOME: "/home/ann", XDG_CACHE_HOME: "" }, "/home/ann/.cache/tidemill"],
])("with %j the cache is %s", (env, directory) => {
	expect(cacheDirectory(env)).toBe(directory);
	expect(compileCacheDirectory(env)).toBe(`${directory}/compile-cache`);
});

test("a cache that can't be written is no error", () => {
	expect(() =>
		cacheCompiledCode({ TIDEMILL_CACHE: "/dev/null/none" }),
	).not.toThrow();
});
