import { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import { type KubeObject, keyOf } from "../../packages/kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { secretNamesOf } from "../reconcile/informers.ts";
import { secretNames } from "../source/webhook/authorization.ts";
import { applyApiSecret } from "./apply.ts";
import { decide } from "./decide.ts";
import { isOfApi, readApiSecret } from "./state.ts";

/** Keeps the owners of the Secrets that the REST API makes, and removes unused ones. The loop doesn't run yet. */
export function createApiSecretController(
	context: OperatorContext,
): ControllerLoop {
	const { client, informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "api-secret",
			reconcile: async (key) => {
				const state = await readApiSecret(context, key);
				if (!state) return undefined;
				const actions = decide(state, Date.now());
				return applyApiSecret(client, state.secret, actions);
			},
		},
		{ log },
	);
	loop.watch(informers.secrets, (secret) =>
		isOfApi(secret) ? [keyOf(secret)] : [],
	);
	const named = ({ metadata }: KubeObject, names: string[]) =>
		names.map((name) => ({ namespace: metadata.namespace!, name }));
	loop.watch(informers.sources, (source) => named(source, secretNames(source)));
	loop.watch(informers.destinations, (destination) =>
		named(destination, secretNamesOf(destination)),
	);
	return loop;
}
