import { Counter, Gauge, type Registry } from "prom-client";
import type { TrackingPlans } from "./tracking-plans.ts";

type Observed = Pick<
	TrackingPlans,
	"outcomes" | "kinds" | "restarts" | "readiedAgain"
> & {
	table: Pick<TrackingPlans["table"], "counts">;
};

/** Metrics of tracking plans. They have no label that a sender or an account could choose. */
export function observePlans(registry: Registry, plans: Observed): void {
	const registers = [registry];
	new Counter({
		name: "tidemill_receive_judged_events_total",
		help: "Events judged by tracking plans, by outcome: Accept, Quarantine, Reject, or Failed. Accepted and quarantined ones are stored after that, if all goes well.",
		labelNames: ["outcome"],
		registers,
		collect() {
			this.reset();
			for (const [outcome, count] of plans.outcomes)
				this.inc({ outcome }, count);
		},
	});
	new Counter({
		name: "tidemill_receive_deviating_events_total",
		help: "Judged events with a violation of this kind. An event counts once for each kind that it has.",
		labelNames: ["kind"],
		registers,
		collect() {
			this.reset();
			for (const [kind, count] of plans.kinds) this.inc({ kind }, count);
		},
	});
	new Gauge({
		name: "tidemill_receive_tracking_plans",
		help: "Versions of tracking plans, by state: compiled, or failed. Receive tries a failed one again.",
		labelNames: ["state"],
		registers,
		collect() {
			const { compiled, failed } = plans.table.counts;
			this.set({ state: "compiled" }, compiled);
			this.set({ state: "failed" }, failed);
		},
	});
	new Counter({
		name: "tidemill_receive_judge_restarts_total",
		help: "How often the thread that judges events has died or hung and was replaced.",
		registers,
		collect() {
			this.reset();
			this.inc(plans.restarts);
		},
	});
	new Counter({
		name: "tidemill_receive_plans_readied_again_total",
		help: "How often a tracking plan's code had to be made ready again before an event was judged, since other plans had taken its room.",
		registers,
		collect() {
			this.reset();
			this.inc(plans.readiedAgain);
		},
	});
}
