import { join } from "node:path";
import {
	type LocalHome,
	locateHome,
	projectDirectory,
} from "../../../local/machine/home.ts";

/** Where a node keeps its state. All of it goes when the node stops. */
export interface NodeHome extends LocalHome {
	/** What the namespaces' programs read: see {@link file://./inside.ts inside.ts}. */
	plan: string;
	/** Is there once the node serves. */
	ready: string;
	/** The programs inside, with the process ids that they have there. */
	programs: string;
	/** Configuration files, `<program>.…`. */
	config: string;
	containerd: string;
	kubelet: string;
	podLogs: string;
	/** Folders that serve as volumes. */
	volumes: string;
	/** Files that stand in for kernel settings of the whole machine. */
	sysctl: string;
	images: string;
}

/** `TIDEMILL_E2E_HOME`, else `.tidemill/e2e` in the project. */
export function locateNodeHome(env: NodeJS.ProcessEnv = process.env): NodeHome {
	const home = locateHome({
		TIDEMILL_HOME:
			env.TIDEMILL_E2E_HOME || join(projectDirectory, ".tidemill/e2e"),
	});
	const inside = (name: string) => join(home.directory, name);
	return {
		...home,
		plan: inside("plan.json"),
		ready: inside("ready"),
		programs: inside("programs.json"),
		config: inside("config"),
		containerd: inside("containerd"),
		kubelet: inside("kubelet"),
		podLogs: inside("pod-logs"),
		volumes: inside("volumes"),
		sysctl: inside("sysctl"),
		images: inside("images"),
	};
}
