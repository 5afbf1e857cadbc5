import { cacheCompiledCode } from "../../packages/service/cache.ts";

cacheCompiledCode();
// Whoever reads the output may have enough, as `| head` does: then there is nothing left to do.
for (const stream of [process.stdout, process.stderr])
	stream.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code !== "EPIPE") throw error;
		process.exit();
	});
// Imported only now, so that its compiled code is cached, too.
const { runCommandLine } = await import("./command-line.ts");
await runCommandLine(process.argv.slice(2));
