import { expect, test } from "vitest";
import { pythonClientFiles, synchronousText } from "./python-client.ts";

test.each([
	["async with AsyncTidemill() as tidemill:", "with Tidemill() as tidemill:"],
	["return await self._runs.get(name)", "return self._runs.get(name)"],
	["await shield(self.cancel())", "self.cancel()"],
	["from asyncio import shield, sleep", "from time import sleep"],
	["async def __aexit__(self) -> None:", "def __exit__(self) -> None:"],
	["await self._http.aclose()", "self._http.close()"],
	[
		"async for text in response.aiter_text():",
		"for text in response.iter_text():",
	],
	["await answer.aread()", "answer.read()"],
	["transport: httpx.AsyncBaseTransport", "transport: httpx.BaseTransport"],
])("%s becomes %s", (awaiting, waiting) => {
	expect(synchronousText(awaiting, "a.py").split("\n")[1]).toBe(waiting);
});

test("the client has each module in both ways, and nothing awaits in one of them", () => {
	const files = pythonClientFiles().filter(([path]) =>
		path.includes("/synchronous/"),
	);
	expect(files.map(([path]) => path.split("/").at(-1))).toEqual([
		"__init__.py",
		"client.py",
		"http.py",
		"pipelines.py",
		"run.py",
	]);
	for (const [path, text] of files) {
		const code = text.slice(text.indexOf("\n"));
		expect(code, path).not.toMatch(/\bawait\b|async|shield|__a/i);
	}
});
