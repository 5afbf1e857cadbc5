import { join, relative } from "node:path";
import { runCommand } from "../../local/machine/errors.ts";
import { createTerminal } from "../../local/machine/terminal.ts";
import { shellWord } from "../../packages/escapes/shell.ts";
import { locateNodeHome } from "./cluster/node-home.ts";
import { startReadyNode } from "./start.ts";

/** `make e2e-up`: starts a real node in the background, for people. */
await runCommand(async () => {
	const home = locateNodeHome();
	const terminal = createTerminal();
	await startReadyNode(home, terminal);
	terminal.settle();
	const kubeconfig = relative(process.cwd(), join(home.kube, "admin.yaml"));
	terminal.say(`
A cluster of one real node runs. \`make e2e-down\` removes it.

  export KUBECONFIG="$PWD"/${shellWord(kubeconfig)}
  kubectl get nodes
`);
	// The node outlives this process.
	process.exit(0);
});
