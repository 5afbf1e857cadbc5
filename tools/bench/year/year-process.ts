import { heldBytes } from "../measure/held-bytes.ts";
import { ShardYear } from "./shard-year.ts";

/** Lives the year of the options that it gets, and sends each day to its parent. */
await ShardYear.run(JSON.parse(process.argv[2]!), heldBytes, (day) =>
	process.send?.(day),
);
process.disconnect?.();
