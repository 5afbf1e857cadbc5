import { cacheCompiledCode } from "../../packages/service/cache.ts";

cacheCompiledCode();
// Whoever reads the output may have enough, as `| head` does: then there is nothing left to do.
for (const stream of [process.stdout, process.stderr])
	stream.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code !== "EPIPE") throw error;
		process.exit();
	});
const args = process.argv.slice(2);
// Each is imported only now, so that its compiled code is cached, too. Scripts ask for the version before each use, and the
// command line takes most of the time.
if (args.length === 1 && /^(-v|--version)$/.test(args[0]!)) {
	const { ownVersion } = await import("../command/own-version.ts");
	process.stdout.write(`${ownVersion()}\n`);
} else {
	const { runCommandLine } = await import("./command-line.ts");
	await runCommandLine(args);
}
