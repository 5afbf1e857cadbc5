import { expect, test } from "vitest";
import { editorCommand } from "./edit.ts";

test.each([
	["linux", {}, "/tmp/a b/shop.yaml", "vi '/tmp/a b/shop.yaml'"],
	["linux", { EDITOR: "nano" }, "/tmp/shop.yaml", "nano /tmp/shop.yaml"],
	[
		"win32",
		{},
		"C:\\Users\\Ada B\\shop.yaml",
		'notepad "C:\\Users\\Ada B\\shop.yaml"',
	],
	[
		"win32",
		{ KUBE_EDITOR: "code --wait", EDITOR: "vim" },
		"C:\\shop.yaml",
		'code --wait "C:\\shop.yaml"',
	],
] as const)(
	"on %s with %j the editor gets its file in the shell's own quotes: %s",
	(platform, variables, file, command) => {
		expect(editorCommand(file, variables, platform)).toBe(command);
	},
);
