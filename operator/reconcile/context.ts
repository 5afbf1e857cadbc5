import type { NatsConnection } from "@nats-io/transport-node";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ControllerLoop } from "../../kube/reconcile/controller.ts";
import type { KubeEventRecorder } from "../../kube/reconcile/kube-events.ts";
import type { Logger } from "../../service/log.ts";
import type { LedgerView } from "../archive/ledger.ts";
import type { OperatorSettings } from "../settings.ts";
import type { RouteTable } from "../source/routes/table.ts";
import type { Informers } from "./informers.ts";

/** What the controllers work with. */
export interface OperatorContext {
	client: KubeClient;
	events: KubeEventRecorder;
	informers: Informers;
	nats: NatsConnection;
	routes: RouteTable;
	ledgers: LedgerView;
	settings: OperatorSettings;
	log: Logger;
}

/** Makes a controller's loop and says what it watches. The loop doesn't run yet. */
export type ControllerFactory = (context: OperatorContext) => ControllerLoop;
