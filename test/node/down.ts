import { runCommand } from "../../local/machine/errors.ts";
import { stopNode } from "./cluster/node.ts";
import { locateNodeHome } from "./cluster/node-home.ts";

/** `make e2e-down`: ends the node and removes all it has made but its logs. */
await runCommand(async () => {
	const home = locateNodeHome();
	await stopNode(home);
	console.log(`No node runs. The logs of the last one are in ${home.logs}.`);
	return 0;
});
