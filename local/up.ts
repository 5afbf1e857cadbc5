import { cacheCompiledCode } from "../packages/service/cache.ts";

cacheCompiledCode();
// Imported only now, so that its compiled code is cached, too.
await import("./foreground.ts");
