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

test.each(["/dev/null/none", "/proc/none", "/proc/none/deeper"])(
	"a cache in %s, which can't be made, is no error and holds nothing up",
	(TIDEMILL_CACHE) => {
		expect(() => cacheCompiledCode({ TIDEMILL_CACHE })).not.toThrow();
	},
);
