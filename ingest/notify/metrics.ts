import { Counter, Gauge, type Registry } from "prom-client";
import type { NextStep } from "./delivery-step.ts";

/** @param inHand how many orders this process has. */
export function notifyMetrics(registry: Registry, inHand: () => number) {
	const registers = [registry];
	const attempts = new Counter({
		name: "tidemill_notify_attempts_total",
		help: "Calls of webhooks, by what they lead to: Delivered, Delivering (another attempt follows) or Failed (none does).",
		labelNames: ["state"],
		registers,
	});
	for (const state of ["Delivered", "Delivering", "Failed"] as const)
		attempts.inc({ state }, 0);
	new Gauge({
		name: "tidemill_notify_orders",
		help: "Notifications that this process is delivering now or next. Those that wait for another attempt are in NATS.",
		registers,
		collect() {
			this.set(inHand());
		},
	});
	return {
		attempted: (state: NextStep["state"]) => attempts.inc({ state }),
	};
}
