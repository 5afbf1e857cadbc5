import { annotation, label } from "../../crds/labels.ts";
import type {
	LocalServerPlace,
	LocalWarehouse,
} from "../../packages/warehouses/definition/local-server.ts";
import { localServers } from "../generated/warehouses.ts";
import type { ChildProgram } from "../machine/program.ts";
import { isOn } from "../machine/switches.ts";
import { applyObject, type Kubectl } from "./resources.ts";

/** A warehouse's server that runs beside the rest of Tidemill. */
export interface WarehouseServer extends LocalWarehouse {
	/** As `spec.type` of a Destination has it. */
	type: string;
	program: ChildProgram;
}

/** The types whose server shall run, each by a variable: its name in capitals. */
export function chosenWarehouses(env: NodeJS.ProcessEnv): string[] {
	return Object.keys(localServers).filter((type) =>
		isOn(env, type.toUpperCase()),
	);
}

export async function prepareWarehouse(
	type: string,
	place: LocalServerPlace,
): Promise<WarehouseServer> {
	const { prepare } = await localServers[type]!();
	const server = await prepare(place);
	const name = type.toLowerCase();
	const { command, args, isReady, stopTimeoutMs } = server;
	const program = { name, command, args, env: {}, isReady, stopTimeoutMs };
	return { ...server, type, program };
}

/** Writes its Secret, with the label that lets Destinations of its namespace use it. */
export async function installSecret(
	kubectl: Kubectl,
	directory: string,
	{ program: { name }, secret, hosts }: WarehouseServer,
): Promise<void> {
	await applyObject(kubectl, directory, "secret", {
		apiVersion: "v1",
		kind: "Secret",
		...secret,
		metadata: {
			name,
			namespace: "default",
			labels: { [label.use]: "true" },
			annotations: { [annotation.hosts]: hosts },
		},
	});
}
