import { cacheCompiledCode } from "../../packages/service/cache.ts";

cacheCompiledCode();
// Imported only now, so that its compiled code is cached, too.
const { runCommandLine } = await import("./command-line.ts");
await runCommandLine(process.argv.slice(2));
