import { rm } from "node:fs/promises";
import { installPackages } from "../../local/binaries/debian-packages.ts";
import { LocalError } from "../../local/machine/errors.ts";
import type { Terminal } from "../../local/machine/terminal.ts";
import { importImage, startNode } from "./cluster/node.ts";
import type { NodeHome } from "./cluster/node-home.ts";
import {
	loadModules,
	packages,
	reasonWithoutNode,
} from "./cluster/requirements.ts";
import { buildImages, images } from "./images/images.ts";

/** Starts a node that knows all images of an installation, and installs what it needs for that. */
export async function startReadyNode(
	home: NodeHome,
	terminal: Terminal,
): Promise<void> {
	const reason = reasonWithoutNode();
	if (reason)
		throw new LocalError(`No real node can run on this machine: ${reason}.`);
	installPackages(packages, (text) => terminal.say(text));
	loadModules();
	await startNode(home, images.pause, terminal);
	terminal.update("images", "building");
	const archives = await buildImages(home.images);
	terminal.update("images", "importing");
	for (const archive of archives) await importImage(home, archive);
	await rm(home.images, { recursive: true });
	terminal.done("images", "known to the node");
}
