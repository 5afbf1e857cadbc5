#!/usr/bin/env node
/* The package's commands. This file alone is read by a Node that is too old for the rest, so it has no static imports. */
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 12)) {
	process.stderr.write(
		`tidemill: this is Node.js ${process.versions.node}, and Tidemill needs 22.12 or later, such as the LTS version of https://nodejs.org. Install it and run this again.\n`,
	);
	process.exit(2);
}
// kubectl completes `kubectl tidemill …` by a command of this name, and wants the candidates as cobra writes them, ended by a
// directive: 4 is "no file names" (github.com/spf13/cobra, ShellCompDirectiveNoFileComp).
const completes = /kubectl_complete-tidemill(\.js)?$/.test(process.argv[1]);
if (completes) process.argv.splice(2, 0, "__complete");
await import("../dist/tidemill.js");
if (completes) process.stdout.write(":4\n");
