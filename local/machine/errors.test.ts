import { expect, test } from "vitest";
import { explain, LocalError, problem } from "./errors.ts";

function systemError(code: string, path?: string) {
	const message = `${code}: what the system says`;
	return Object.assign(new Error(message), { code, ...(path && { path }) });
}

test.each([
	["ENOSPC", "The disk that holds /f is full."],
	["EDQUOT", "The disk that holds /f is full."],
	["EACCES", "/f can't be used: EACCES: what the system says."],
])("%s of a file is explained to a person", (code, message) => {
	const problem = explain(systemError(code, "/f"));
	expect(problem).toBeInstanceOf(LocalError);
	expect(problem?.message).toContain(message);
});

test("a problem stays as it is, and a defect of ours is not explained", () => {
	const problem = new LocalError("Stop that program.");
	expect(explain(problem)).toBe(problem);
	expect(explain(systemError("ECONNREFUSED"))).toBeUndefined();
	expect(explain(new TypeError("x is undefined"))).toBeUndefined();
});

test("a path with a space can be pasted", () => {
	expect(problem.portTaken("api", 80, "/my home/ports.json").message).toContain(
		"remove '/my home/ports.json', and",
	);
});
