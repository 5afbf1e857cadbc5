import { expect, test } from "vitest";
import { toHostPath } from "./plan.ts";

const mounts = [
	{ containerPath: "/data", hostPath: "/home/x/data" },
	{ containerPath: "/data/inner", hostPath: "/home/x/inner" },
	{ containerPath: "/dev/termination-log", hostPath: "/home/x/message" },
	{ containerPath: "/slash/", hostPath: "/home/x/slash" },
];

test.each([
	["/data", "/home/x/data"],
	["/data/a/b", "/home/x/data/a/b"],
	["/data/inner/a", "/home/x/inner/a"],
	["/dev/termination-log", "/home/x/message"],
	["/slash/a", "/home/x/slash/a"],
])("the mounted path %s is %s on this machine", (text, expected) => {
	expect(toHostPath(text, mounts)).toBe(expected);
});

test.each(["/database", "see /data", "data", "/", ""])(
	"%j is not a mounted path and stays",
	(text) => {
		expect(toHostPath(text, mounts)).toBe(text);
	},
);
