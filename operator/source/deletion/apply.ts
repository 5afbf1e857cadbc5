import type { NatsConnection } from "@nats-io/transport-node";
import { sourceKind } from "../../../crds/generated/types.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { deletionSubject } from "../../../packages/contracts/nats.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type { BackgroundWork } from "../../../packages/kube/reconcile/background-work.ts";
import {
	type Result,
	soonest,
} from "../../../packages/kube/reconcile/controller.ts";
import { keyOf } from "../../../packages/kube/resource.ts";
import { withhold } from "../../../packages/service/withheld.ts";
import { askArchive } from "../../archive/ask.ts";
import { report, setFinalizers } from "../../reconcile/actions.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import { unlessNamespaceEnds } from "../../reconcile/namespace-end.ts";
import { keysSecretName, type StoredUnder } from "../routes/keys.ts";
import type { RouteTable } from "../routes/table.ts";
import {
	type Burial,
	type DeletionAction,
	decideAnswered,
	decideBuried,
} from "./decide.ts";
import type { DeletionState } from "./state.ts";

export const aboutDeletion = { kind: sourceKind, verb: "Delete" };

/** What a deletion works with, beyond {@link OperatorContext}. */
export interface DeletionMeans {
	nats: NatsConnection;
	routes: RouteTable;
	/** The requests to archive, which may take a minute to answer. */
	asks: BackgroundWork<DeletionAnswer>;
}

/** Does what was decided. The answers of NATS and archive lead to further decisions. */
export async function applyDeletion(
	context: OperatorContext & DeletionMeans,
	state: DeletionState,
	actions: DeletionAction[],
	onStatusWritten: () => void,
): Promise<Result | undefined> {
	const { asks, client, nats, routes } = context;
	const { name, namespace } = state.source.metadata;
	let { source } = state;
	let result: Result | undefined;
	if (!actions.some(({ type }) => type === "buryKey" || type === "askArchive"))
		asks.drop(keyOf(source));
	for (const action of actions)
		switch (action.type) {
			case "buryKey": {
				const { stored } = action;
				const burial = await bury(routes, namespace!, stored);
				const current = { ...state, source };
				return applyDeletion(
					context,
					current,
					decideBuried(current, stored, burial, Date.now()),
					onStatusWritten,
				);
			}
			case "askArchive": {
				const { shard, question } = action;
				const subject = deletionSubject(shard);
				const about = subject + JSON.stringify(question);
				const answer = asks.outcomeOf(keyOf(source), about, (signal) =>
					askArchive<DeletionAnswer>(
						nats,
						{ subject, shard },
						question,
						"ArchiveUnavailable",
						signal,
					),
				);
				// The Source comes back when the answer is there.
				if (!answer) break;
				asks.drop(keyOf(source));
				const current = { ...state, source };
				return applyDeletion(
					context,
					current,
					decideAnswered(current, answer, Date.now()),
					onStatusWritten,
				);
			}
			case "deleteKeys":
				await unlessNamespaceEnds(
					client,
					namespace!,
					() => client.delete(kinds.secret, keysSecretName(name), namespace),
					false,
				);
				break;
			case "setFinalizers":
				source = await setFinalizers(
					client,
					sourceKind,
					source,
					action.finalizers,
				);
				break;
			case "lookAgain":
				result = soonest(result, action.afterMs);
				break;
			default:
				if (action.type === "writeStatus") onStatusWritten();
				source = await report(context, aboutDeletion, source, action);
		}
	return result;
}

async function bury(
	routes: RouteTable,
	account: string,
	{ sourceKey }: StoredUnder,
): Promise<Burial> {
	try {
		return (await routes.bury(sourceKey, account)) ? "buried" : "foreign";
	} catch (error) {
		return {
			trouble: `NATS can't be used (${withhold(error, "the operator", "a source key can't be buried")})`,
		};
	}
}
