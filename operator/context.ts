import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../service/log.ts";
import type { Informers } from "./informers.ts";
import type { KubeClient } from "./kube/client.ts";
import type { ControllerLoop } from "./kube/controller.ts";
import type { EventRecorder } from "./kube/events.ts";
import type { LedgerView } from "./ledger-view.ts";
import type { RouteTable } from "./routes.ts";
import type { OperatorSettings } from "./settings.ts";

/** What the controllers work with. */
export interface OperatorContext {
	client: KubeClient;
	events: EventRecorder;
	informers: Informers;
	nats: NatsConnection;
	routes: RouteTable;
	ledgers: LedgerView;
	settings: OperatorSettings;
	log: Logger;
}

/** Makes a controller's loop and says what it watches. The loop doesn't run yet. */
export type ControllerFactory = (context: OperatorContext) => ControllerLoop;
